import { MINUTE } from '../../../core/clock.ts'
import { job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'

/** Edits or deletes what a target has published. */
export const changeRemote = job({
  name: 'posts.change-remote',
  summary: 'Edit or delete a published post at its platform',
  queue: 'publishing',
  data: Type.Object({ targetId: Id, plan: Type.Integer() }),
  // The worker plans its own attempts. These are for failures of this server, such as a lost database.
  attempts: 100,
  backoff: { firstMs: 1_000, maxMs: MINUTE },
  timeoutMs: 10 * MINUTE,
  run: async ({ data, remote, signal, workspaceId }) => {
    if (workspaceId !== undefined) await remote.worker.run({ ...data, workspaceId, signal })
  },
})

export const purgePosts = schedule({
  name: 'posts.purge',
  summary: 'Permanently delete posts that were deleted over 30 days ago, and old bulk changes',
  cron: '23 3 * * *',
  timeoutMs: 30 * MINUTE,
  run: async ({ remote, signal, writing }) => {
    await remote.bin.purge(signal)
    await writing.bulkChanges.purge(signal)
  },
})
