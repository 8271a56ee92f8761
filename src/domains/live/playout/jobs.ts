import { job } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'
import { startBroadcast } from './turns.ts'

export const beginBroadcast = job({
  name: 'streams.broadcast',
  summary: 'Start a file broadcast that is due or whose files are ready',
  queue: 'default',
  data: Type.Object({ broadcastId: Id }),
  // The attempts allow a media node to come back that is unavailable at the start time.
  attempts: 60,
  backoff: { firstMs: 1_000, maxMs: 60_000 },
  run: async ({ data, turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, startBroadcast, data)
  },
})
