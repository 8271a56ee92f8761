import { job } from '../../core/job.ts'
import { Id, Type } from '../../core/schema.ts'
import { startScheduled } from './turns.ts'

export const beginBroadcast = job({
  name: 'streams.broadcast',
  summary: 'Begin a scheduled broadcast of files',
  queue: 'default',
  data: Type.Object({ broadcastId: Id }),
  // A media node that is away when the time has come is waited for.
  attempts: 60,
  backoff: { firstMs: 1_000, maxMs: 60_000 },
  run: async ({ data, turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, startScheduled, data)
  },
})
