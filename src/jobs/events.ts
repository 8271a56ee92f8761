import { event } from '../core/event.ts'
import { EXAMPLE } from '../core/example-ids.ts'
import { JOB_AUDIENCES } from '../core/job.ts'
import { Id, Nullable, States, Type } from '../core/schema.ts'

/** Seen by members with the scope that the job names in `seenBy`. */

const job = {
  workspaceId: Id,
  jobId: Id,
  name: Type.String({ description: 'What kind of job it is, such as `assets.rendition`' }),
}

const example = { workspaceId: EXAMPLE.workspaceId, jobId: EXAMPLE.jobId, name: 'assets.rendition' }

export const jobProgress = event({
  name: 'job.progress',
  summary: 'How far a job of the workspace is; at most twice a second',
  description:
    'Members see it who may see what the job makes: for files of the media library, those with `media:read`.',
  scope: 'team:read',
  otherScopes: JOB_AUDIENCES,
  stored: false,
  data: Type.Object({
    ...job,
    percent: Type.Number({ minimum: 0, maximum: 100, description: 'How much of the work is done' }),
    detail: Nullable(Type.String({ description: 'What it is doing, for people' })),
  }),
  example: { ...example, percent: 42.5, detail: null },
})

export const jobFinished = event({
  name: 'job.finished',
  summary: 'A job of the workspace is done, or is dead because it failed for good or was removed',
  scope: 'team:read',
  otherScopes: JOB_AUDIENCES,
  stored: false,
  data: Type.Object({
    ...job,
    state: States('FinishedJobState', 'How a job has ended', {
      done: 'Has succeeded',
      dead: 'Has failed for good, for the reason in `error`, or was removed',
    }),
    error: Nullable(Type.String({ description: 'Why it failed, for people' })),
  }),
  example: { ...example, state: 'done', error: null },
})
