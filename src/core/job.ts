import { Type, type Static, type TSchema } from 'typebox'
import type { Logger } from './log.ts'
import type { Scope } from './scope.ts'
import type { Services } from './services.ts'
import type { Sql, Transaction } from './sql.ts'

export interface QueueSettings {
  readonly summary: string
  /** How many jobs one node runs at once. */
  readonly concurrency: number
  /**
   * Serves workspaces round robin, one job at a time each. For heavy work, so that one workspace cannot starve the
   * others.
   */
  readonly fair?: true
  /** How many jobs all nodes together may start in a period. */
  readonly rate?: { readonly max: number; readonly perMs: number }
}

/** The settings of a queue that a node can override. */
export type QueueBounds = Partial<Pick<QueueSettings, 'concurrency' | 'rate'>>

/** The queues. Work that must not wait for other work has its own. Jobs left in a removed queue run in `default`. */
export const QUEUES = {
  default: { summary: 'Short work of any kind', concurrency: 50 },
  publishing: { summary: 'Publishing posts, and checking their outcome', concurrency: 100 },
  preparation: { summary: 'Uploading the files of posts before their time', concurrency: 10 },
  mail: { summary: 'Mails', concurrency: 5 },
  notifications: { summary: 'Notifications of users', concurrency: 20 },
  media: { summary: 'Thumbnails and probing: heavy', concurrency: 2, fair: true },
  ai: { summary: 'Captions, transcripts and writing styles', concurrency: 10, fair: true },
  transcodes: { summary: 'Renditions: heavy, and long', concurrency: 1, fair: true },
  webhooks: { summary: 'Events to the endpoints of webhooks', concurrency: 200 },
  'webhook-retries': { summary: 'The same, to endpoints that fail or reply slowly', concurrency: 100 },
  maintenance: { summary: 'Housekeeping by schedule', concurrency: 2 },
} as const satisfies Record<string, QueueSettings>

export type QueueName = keyof typeof QUEUES
export const QUEUE_NAMES = Object.keys(QUEUES) as [QueueName, ...QueueName[]]

/** Queues that serve workspaces in turn. */
export const FAIR_QUEUES: readonly QueueName[] = QUEUE_NAMES.filter((name) => 'fair' in QUEUES[name])

/** Whether this version has a queue of that name. Stored jobs may name a queue of another version. */
export function isQueue(name: string): name is QueueName {
  return Object.hasOwn(QUEUES, name)
}

/** Scopes that a job can require of the members who see its progress. */
export const JOB_AUDIENCES = [
  'team:read',
  'media:read',
  'posts:read',
  'streams:read',
  'analytics:read',
  'ai:use',
  'studio:read',
] as const
export type JobAudience = (typeof JOB_AUDIENCES)[number] & Scope

export const JOB_DEFAULTS = {
  attempts: 5,
  backoff: { firstMs: 1_000, maxMs: 5 * 60_000 },
  timeoutMs: 60_000,
}

/** One attempt to run a job. Only the newest attempt of a job may commit its effect. */
export interface Attempt {
  readonly id: string
  readonly jobId: string
  /** Starts at 1. */
  readonly number: number
  /** The job is dead after this many attempts. */
  readonly of: number
}

/** The context of `run`. Services are added to these fields, under their names in `Services`. */
export interface JobContext<D> {
  readonly data: D
  /** The workspace that the job was added for. */
  readonly workspaceId: string | undefined
  readonly attempt: Attempt
  /** Aborted on timeout or when the node shuts down. An attempt that ignores it is abandoned soon after. */
  readonly signal: AbortSignal
  readonly log: Logger
  /**
   * Reports progress, from 0 to 100, to the sockets of members with the scope `seenBy`. Cheap: a few reports a second
   * are sent.
   * @param partialText what a model has written so far
   */
  readonly progress: (percent: number, detail?: string, partialText?: string) => void
  /**
   * The job's effect on the database. `work` and the completion of the job commit together or not at all, so the effect
   * happens exactly once, however often the job runs.
   * @throws AttemptLostError when a newer attempt has started, or the job was deleted
   */
  readonly effect: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>
  /**
   * Completes the job in an existing transaction, such as that of a turn, as `effect` does in its own.
   * @throws AttemptLostError
   */
  readonly complete: (sql: Sql) => Promise<void>
}

/** The declaration of a job. Everything about the job is derived from it. */
export interface JobDeclaration<S extends TSchema> {
  /** `domain.verb`. Waiting jobs are stored with it, so it must not change when code moves. */
  readonly name: `${string}.${string}`
  readonly summary: string
  readonly queue: QueueName
  /** Validated when the job is added and when it runs, possibly by a newer version. */
  readonly data: S
  /** How many attempts are made before the job is dead; 5 when absent. */
  readonly attempts?: number
  /** The delay before the second attempt. It doubles with each attempt, up to `maxMs`. Half of it is random. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number }
  /** The timeout of one attempt; a minute when absent. */
  readonly timeoutMs?: number
  /** The data holds a secret. It is stored encrypted and never shown. */
  readonly sealed?: true
  /** Runs the job even while its service is switched off, because its code checks the switch. Other jobs wait. */
  readonly whileOff?: 'runs'
  /** Members with this scope receive the progress and the result of the workspace's jobs. */
  readonly seenBy?: JobAudience
  readonly run: (context: JobContext<Static<S>> & Services) => Promise<void>
}

/** A job as the runtime sees it, with its own types erased. */
// oxlint-disable typescript/no-explicit-any -- the only place where the types of individual jobs are erased
export type AnyJob = Omit<JobDeclaration<any>, 'run'> & {
  readonly run: (context: any) => Promise<void>
  /** Only schedules set it. */
  readonly cron?: string
  readonly timeZone?: string
}
// oxlint-enable typescript/no-explicit-any

/** Declares a job: work that runs after a commit, at least once, on nodes with the role `jobs`. */
export function job<const S extends TSchema>(declaration: JobDeclaration<S>): JobDeclaration<S> {
  return declaration
}

const NO_DATA = Type.Object({})

export interface ScheduleDeclaration extends Omit<
  JobDeclaration<typeof NO_DATA>,
  'data' | 'queue' | 'sealed' | 'seenBy'
> {
  /** Cron fields: minute, hour, day, month, weekday. With six fields, the first is the second. */
  readonly cron: string
  /** IANA time zone; UTC when absent. */
  readonly timeZone?: string
  readonly queue?: QueueName
}

export interface Schedule extends JobDeclaration<typeof NO_DATA> {
  readonly cron: string
  readonly timeZone?: string
}

/**
 * Declares periodic work: one run across all nodes per due time. Due times missed while no node ran count as one run.
 */
export function schedule(declaration: ScheduleDeclaration): Schedule {
  return { queue: 'maintenance', ...declaration, data: NO_DATA }
}

/**
 * Jobs and schedules by name.
 * @throws Error when a name is declared twice
 */
export function jobsByName(jobs: readonly AnyJob[]): Map<string, AnyJob> {
  const found = new Map<string, AnyJob>()
  for (const declared of jobs) {
    if (found.has(declared.name)) throw new Error(`job ${declared.name} is declared twice`)
    found.set(declared.name, declared)
  }
  return found
}

/** Another attempt has taken over, or the job no longer exists. Nothing of this attempt may take effect. */
export class AttemptLostError extends Error {
  override readonly name = 'AttemptLostError'
}

/** A failure that a retry cannot fix. The job is dead at once, with this message as the reason. */
export class UnrecoverableError extends Error {
  override readonly name = 'UnrecoverableError'
}

export interface JobOptions {
  /** The earliest start; at once when absent. */
  readonly runAt?: Date
  /** While a job with the same name and key waits, no second one is added. */
  readonly key?: string
}

/** Adds jobs. Inside a turn, use `turn.job`. */
export interface Jobs {
  /**
   * Adds a job in the caller's transaction. It runs after the commit, and never if the transaction fails. With the pool
   * itself (`database`), it is added at once.
   * @returns the id of the job; if a job with the same key already waits, an id that does not exist
   * @throws Error when the data does not match the job's schema, which is a bug of the caller
   */
  add<S extends TSchema>(
    sql: Sql | Transaction,
    declared: JobDeclaration<S>,
    data: Static<S>,
    options?: JobOptions & { readonly workspaceId?: string },
  ): Promise<string>
}

declare module './services.ts' {
  interface Services {
    readonly jobs: Jobs
  }
}
