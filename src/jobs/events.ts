import { event } from '../core/event.ts'
import { JOB_AUDIENCES } from '../core/job.ts'
import { Id, Nullable, OneOf, Type } from '../core/schema.ts'

/** Seen by members with the scope that the job names in `seenBy`. */

const job = { workspaceId: Id, jobId: Id, name: Type.String() }

export const jobProgress = event({
  name: 'job.progress',
  summary: 'How far a job of the workspace is; at most twice a second',
  scope: 'team:read',
  otherScopes: JOB_AUDIENCES,
  stored: false,
  data: Type.Object({
    ...job,
    percent: Type.Number({ minimum: 0, maximum: 100 }),
    detail: Nullable(Type.String()),
  }),
})

export const jobFinished = event({
  name: 'job.finished',
  summary: 'A job of the workspace is done, or dead: given up or removed, with the reason',
  scope: 'team:read',
  otherScopes: JOB_AUDIENCES,
  stored: false,
  data: Type.Object({ ...job, state: OneOf(['done', 'dead']), reason: Nullable(Type.String()) }),
})
