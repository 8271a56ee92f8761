import { MINUTE } from '../../../../core/clock.ts'
import { job } from '../../../../core/job.ts'
import type { Logger } from '../../../../core/log.ts'
import { Type } from '../../../../core/schema.ts'

/** What publishes the targets of a workspace that are due. The domain of publication provides it. */
export interface DuePublisher {
  run(due: { readonly workspaceId: string; readonly signal: AbortSignal; readonly log: Logger }): Promise<unknown>
}

/**
 * Publishes the targets of a workspace that are due. What is due follows from the targets alone, so the job says nothing
 * about them, runs once for all that have the same time, and does nothing if they have changed since.
 */
export const publishDue = job({
  name: 'posts.publish',
  summary: 'Publish the posts of a workspace that are due',
  queue: 'publishing',
  // The job holds due targets and shows the reason.
  whileOff: 'runs',
  data: Type.Object({}),
  // The publisher plans its own attempts. These are for failures of this server, such as a lost database.
  attempts: 100,
  backoff: { firstMs: 1_000, maxMs: MINUTE },
  timeoutMs: 60 * MINUTE,
  run: async ({ log, planning, signal, workspaceId }) => {
    if (workspaceId !== undefined) await planning.publisher.get().run({ workspaceId, signal, log })
  },
})
