import { Type, type Static, type TSchema } from 'typebox'
import type { Logger } from './log.ts'
import type { Scope } from './scope.ts'
import type { Services } from './services.ts'
import type { Sql, Transaction } from './sql.ts'

export interface QueueSettings {
  readonly summary: string
  /** Jobs that one node runs at once. */
  readonly concurrency: number
  /**
   * Workspaces are served in turn: one job each, however many a workspace has waiting. For work that is heavy, so that
   * one workspace cannot keep the others waiting.
   */
  readonly fair?: true
  /** Jobs that all nodes together start in a span of time. */
  readonly rate?: { readonly max: number; readonly perMs: number }
}

/** What a node may set of a queue. */
export type QueueBounds = Partial<Pick<QueueSettings, 'concurrency' | 'rate'>>

/** The queues. Work that must not wait for other work has one of its own; what is left of one that goes ends in `default`. */
export const QUEUES = {
  default: { summary: 'Short work of any kind', concurrency: 50 },
  mail: { summary: 'Mails', concurrency: 5 },
  media: { summary: 'Thumbnails and probing: heavy', concurrency: 2, fair: true },
  transcodes: { summary: 'Renditions: heavy, and long', concurrency: 1, fair: true },
  maintenance: { summary: 'Housekeeping by schedule', concurrency: 2 },
} as const satisfies Record<string, QueueSettings>

export type QueueName = keyof typeof QUEUES
export const QUEUE_NAMES = Object.keys(QUEUES) as [QueueName, ...QueueName[]]

/** Queues that serve workspaces in turn. */
export const FAIR_QUEUES: readonly QueueName[] = QUEUE_NAMES.filter((name) => 'fair' in QUEUES[name])

/** Whether this version has a queue of that name; stored jobs may name one that it has not. */
export function isQueue(name: string): name is QueueName {
  return Object.hasOwn(QUEUES, name)
}

/** Scopes of those who may hear of jobs. */
export const JOB_AUDIENCES = ['team:read', 'media:read', 'posts:read', 'streams:read', 'analytics:read'] as const
export type JobAudience = (typeof JOB_AUDIENCES)[number] & Scope

export const JOB_DEFAULTS = {
  attempts: 5,
  backoff: { firstMs: 1_000, maxMs: 5 * 60_000 },
  timeoutMs: 60_000,
}

/** One try at a job. Only the newest attempt of a job may commit its effect. */
export interface Attempt {
  readonly id: string
  readonly jobId: string
  /** From 1. */
  readonly number: number
  /** After how many the job is dead. */
  readonly of: number
}

/** What `run` is given. Services come beside these fields, by their names in `Services`. */
export interface JobContext<D> {
  readonly data: D
  /** Of the workspace that the job was added for. */
  readonly workspaceId: string | undefined
  readonly attempt: Attempt
  /** Aborted when the time is over or the node shuts down; what goes on regardless is abandoned soon after. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** Tells how far the job is, from 0 to 100, to the sockets of those in `seenBy`. Cheap: a few a second go out. */
  readonly progress: (percent: number, detail?: string) => void
  /**
   * The job's one effect on the database: `work` and the end of the job commit together or not at all, so that the
   * effect happens once however often the job is run.
   * @throws AttemptLostError when another attempt has taken over, or the job was removed
   */
  readonly effect: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>
  /**
   * Ends the job within a transaction at hand (that of a turn, for instance), as `effect` does in one of its own.
   * @throws AttemptLostError
   */
  readonly complete: (sql: Sql) => Promise<void>
}

/** The literal from which everything about a job is derived. */
export interface JobDeclaration<S extends TSchema> {
  /** `domain.verb`; stored with waiting jobs, so it stays when code moves. */
  readonly name: `${string}.${string}`
  readonly summary: string
  readonly queue: QueueName
  /** Checked when the job is added and again when it runs, maybe by a newer version. */
  readonly data: S
  /** Tries until the job is dead; 5 when absent. */
  readonly attempts?: number
  /** Wait before the second try, doubled with each up to `maxMs`; half of it is random. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number }
  /** Of one attempt; a minute when absent. */
  readonly timeoutMs?: number
  /** The data holds a secret: it is stored sealed and never shown. */
  readonly sealed?: true
  /** Members with this scope hear of the progress and the end of jobs that belong to a workspace. */
  readonly seenBy?: JobAudience
  readonly run: (context: JobContext<Static<S>> & Services) => Promise<void>
}

/** A job as the runtime sees it, its own types set aside. */
// oxlint-disable typescript/no-explicit-any -- the one place where the types of single jobs are erased
export type AnyJob = Omit<JobDeclaration<any>, 'run'> & {
  readonly run: (context: any) => Promise<void>
  /** Of a schedule. */
  readonly cron?: string
  readonly timeZone?: string
}
// oxlint-enable typescript/no-explicit-any

/** Declares a job: work after a commit, at least once, in the role `jobs`. */
export function job<const S extends TSchema>(declaration: JobDeclaration<S>): JobDeclaration<S> {
  return declaration
}

const NO_DATA = Type.Object({})

export interface ScheduleDeclaration extends Omit<
  JobDeclaration<typeof NO_DATA>,
  'data' | 'queue' | 'sealed' | 'seenBy'
> {
  /** Minute, hour, day, month, weekday; with six fields the first is the second. */
  readonly cron: string
  /** IANA name; UTC when absent. */
  readonly timeZone?: string
  readonly queue?: QueueName
}

export interface Schedule extends JobDeclaration<typeof NO_DATA> {
  readonly cron: string
  readonly timeZone?: string
}

/** Declares work by the clock: one run across all nodes each time; times that passed while none ran are one run. */
export function schedule(declaration: ScheduleDeclaration): Schedule {
  return { queue: 'maintenance', ...declaration, data: NO_DATA }
}

/** Jobs and schedules by name. @throws when a name is declared twice */
export function jobsByName(jobs: readonly AnyJob[]): Map<string, AnyJob> {
  const found = new Map<string, AnyJob>()
  for (const declared of jobs) {
    if (found.has(declared.name)) throw new Error(`job ${declared.name} is declared twice`)
    found.set(declared.name, declared)
  }
  return found
}

/** Another attempt has taken over, or the job is no more: nothing of this one may take effect. */
export class AttemptLostError extends Error {
  override readonly name = 'AttemptLostError'
}

/** What no repetition would mend: the job is dead at once, with this message as its reason. */
export class HopelessError extends Error {
  override readonly name = 'HopelessError'
}

export interface JobOptions {
  /** Not before this time; at once when absent. */
  readonly runAt?: Date
  /** While a job of the same name and key waits to be started, no second one is added. */
  readonly key?: string
}

/** Adds jobs. Inside a turn it is `turn.job`. */
export interface Jobs {
  /**
   * Adds a job in the caller's transaction: it runs after the commit, and never when that fails. On the pool itself
   * (`database`) it is added at once.
   * @returns its id; where one of the same key waits already, an id that names nothing
   * @throws Error when the data does not fit the job's schema: a mistake of the caller
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
