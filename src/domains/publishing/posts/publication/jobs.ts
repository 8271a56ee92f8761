import { MINUTE } from '../../../../core/clock.ts'
import { job, schedule } from '../../../../core/job.ts'
import { Id, Type } from '../../../../core/schema.ts'

/** Publishes a target at its time, goes on with it after an interruption, or checks its outcome. */
export const publishTarget = job({
  name: 'posts.publish',
  summary: 'Publish a post at one account',
  queue: 'publishing',
  data: Type.Object({ targetId: Id, plan: Type.Integer() }),
  // The publisher plans its own attempts. These are for failures of this server, such as a lost database.
  attempts: 100,
  backoff: { firstMs: 1_000, maxMs: MINUTE },
  timeoutMs: 60 * MINUTE,
  run: async ({ data, log, posts, signal, workspaceId }) => {
    if (workspaceId !== undefined) await posts.publisher.run({ ...data, workspaceId, signal, log })
  },
})

export const watchTargets = schedule({
  name: 'posts.watch',
  summary: 'Find posts that are due and do not progress',
  cron: '*/20 * * * * *',
  run: async ({ log, posts, signal }) => {
    await posts.watchdog.run(signal, log)
  },
})
