import { event } from '../core/event.ts'
import { EXAMPLE } from '../core/example-ids.ts'
import { JOB_AUDIENCES } from '../core/job.ts'
import { Id, Nullable, States, Type } from '../core/schema.ts'

/** Sent to members with the scope that the job names in `seenBy`. */

const job = {
  workspaceId: Id,
  jobId: Id,
  name: Type.String({ description: 'Name of the job, such as `assets.rendition`' }),
}

const example = { workspaceId: EXAMPLE.workspaceId, jobId: EXAMPLE.jobId, name: 'assets.rendition' }

export const jobProgress = event({
  name: 'job.progress',
  summary: 'A job of the workspace has made progress. At most twice a second',
  description:
    'Sent to members who can see the result of the job. For files of the media library, these have `media:read`.',
  scope: 'team:read',
  otherScopes: JOB_AUDIENCES,
  stored: false,
  data: Type.Object({
    ...job,
    percent: Type.Number({ minimum: 0, maximum: 100, description: 'Progress in percent' }),
    detail: Nullable(Type.String({ description: 'Current step, as text for people' })),
    partialText: Nullable(
      Type.String({
        description:
          'What a model has written so far, if the job has a model write and its provider sends the reply piece by piece. It is not checked, and an attempt that fails begins again',
      }),
    ),
  }),
  example: { ...example, percent: 42.5, detail: null, partialText: null },
})

export const jobFinished = event({
  name: 'job.finished',
  summary: 'A job of the workspace has succeeded, has failed for good, or was deleted',
  scope: 'team:read',
  otherScopes: JOB_AUDIENCES,
  stored: false,
  data: Type.Object({
    ...job,
    state: States('FinishedJobState', 'Final state of a job', {
      done: 'The job succeeded',
      dead: 'The job failed for good or was deleted. `error` says why',
    }),
    error: Nullable(Type.String({ description: 'Why the job failed, as text for people' })),
  }),
  example: { ...example, state: 'done', error: null },
})
