import { QUEUE_NAMES } from '../core/job.ts'
import { pageFields } from '../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Timestamp,
  Type,
  type Static,
} from '../core/schema.ts'
import { Several } from '../core/several.ts'

export const JobState = States('JobState', 'State of a job', {
  waiting: 'Is due and waits for a worker',
  held: 'Is due and waits until its service is switched on. `service` names it',
  delayed: 'Will run at `runAt`, because it was scheduled or is retried after a failure',
  active: 'Is running',
  done: 'Succeeded',
  dead: 'Failed for good or was deleted. `error` says why',
})
export type JobState = Static<typeof JobState>

export const QueueParameter = OneOf(QUEUE_NAMES)

export const JobQuery = Input({
  queue: Several(QueueParameter),
  state: Several(JobState),
  name: Several(Type.String({ maxLength: 100 }), { description: 'Name of the job, such as `assets.thumbnail`' }),
  workspaceId: Several(Id),
  ...pageFields,
})

export const QueueBody = Input({ queue: QueueParameter })

export const CleanBody = Input({
  queue: QueueParameter,
  state: OneOf(['done', 'dead', 'waiting', 'held', 'delayed']),
  olderThan: Type.Integer({
    minimum: 0,
    maximum: 31_536_000,
    description: 'Minimum age in seconds, since the last change',
  }),
})

export const Removed = Type.Object({ removedCount: Type.Integer() })

export const JobView = named(
  'Job',
  Type.Object({
    ...ResourceBase,
    queue: Type.String(),
    name: Type.String(),
    service: Nullable(
      Type.String({
        description:
          'The service of the job: while that is switched off, the job waits. Null if the job runs in any case',
      }),
    ),
    state: JobState,
    workspaceId: Nullable(Id),
    attempts: Type.Integer(),
    maxAttempts: Nullable(Type.Integer()),
    error: Nullable(Type.String({ description: 'Why the last attempt failed' })),
    data: Type.Unknown({
      description: 'Payload. Null if the job is done, or if it is sealed because it contains a secret',
    }),
    sealed: Type.Boolean(),
    runAt: Timestamp,
    startedAt: Nullable(Timestamp),
    finishedAt: Nullable(Timestamp),
  }),
)

const Spread = Type.Object({ p50: Type.Number(), p95: Type.Number(), p99: Type.Number() })

export const QueueStats = named(
  'QueueStats',
  Type.Object({
    queue: Type.String(),
    summary: Type.String(),
    concurrency: Type.Integer({ description: 'Maximum number of jobs that a node runs at the same time' }),
    waiting: Type.Integer(),
    held: Type.Integer({ description: 'Jobs that wait until their service is switched on' }),
    delayed: Type.Integer(),
    active: Type.Integer(),
    dead: Type.Integer(),
    oldestWaitingSeconds: Type.Number(),
    throughput: Type.Object({ lastMinute: Type.Integer(), lastHour: Type.Integer(), lastDay: Type.Integer() }),
    waitMs: Nullable(Spread),
    runMs: Nullable(Spread),
  }),
)
