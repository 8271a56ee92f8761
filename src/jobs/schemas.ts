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

export const JobState = States('JobState', 'How a job is doing', {
  waiting: 'Is due and waits for its turn',
  delayed: 'Runs at `runAt`: it was scheduled for then, or is repeated after a failure',
  active: 'Runs now',
  done: 'Has succeeded',
  dead: 'Has failed for good, for the reason in `error`, or was removed',
})
export type JobState = Static<typeof JobState>

export const QueueParameter = OneOf(QUEUE_NAMES)

export const JobQuery = Input({
  queue: Type.Optional(QueueParameter),
  state: Type.Optional(JobState),
  name: Type.Optional(Type.String({ maxLength: 100, description: 'As `assets.thumbnail`' })),
  workspaceId: Type.Optional(Id),
  ...pageFields,
})

export const QueueBody = Input({ queue: QueueParameter })

export const CleanBody = Input({
  queue: QueueParameter,
  state: OneOf(['done', 'dead', 'waiting', 'delayed']),
  olderThan: Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'Seconds since the last change' }),
})

export const Removed = Type.Object({ removedCount: Type.Integer() })

export const JobView = named(
  'Job',
  Type.Object({
    ...ResourceBase,
    queue: Type.String(),
    name: Type.String(),
    state: JobState,
    workspaceId: Nullable(Id),
    attempts: Type.Integer(),
    maxAttempts: Nullable(Type.Integer()),
    error: Nullable(Type.String({ description: 'Why the last attempt failed' })),
    data: Type.Unknown({ description: 'Null when it is done, or sealed because it holds a secret' }),
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
    concurrency: Type.Integer({ description: 'Jobs that one node runs at once' }),
    waiting: Type.Integer(),
    delayed: Type.Integer(),
    active: Type.Integer(),
    dead: Type.Integer(),
    oldestWaitingSeconds: Type.Number(),
    throughput: Type.Object({ lastMinute: Type.Integer(), lastHour: Type.Integer(), lastDay: Type.Integer() }),
    waitMs: Nullable(Spread),
    runMs: Nullable(Spread),
  }),
)
