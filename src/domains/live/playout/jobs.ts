import { job } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'
import { startBroadcast } from './turns.ts'

export const beginBroadcast = job({
  name: 'streams.broadcast',
  summary: 'Begin a broadcast of files whose time has come, or whose files are made',
  queue: 'default',
  data: Type.Object({ broadcastId: Id }),
  // A media node that is away when the time has come is waited for.
  attempts: 60,
  backoff: { firstMs: 1_000, maxMs: 60_000 },
  run: async ({ data, turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, startBroadcast, data)
  },
})
