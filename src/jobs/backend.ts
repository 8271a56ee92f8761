import { setTimeout as delay } from 'node:timers/promises'
import type * as BullMQ from 'bullmq'
import type { BackendFactory, IQueueBackend, Job, JobsOptions, Queue, Worker } from 'bullmq'
import { QUEUE_NAMES, QUEUES, type QueueBounds, type QueueName, type QueueSettings } from '../core/job.ts'
import type { Logger } from '../core/log.ts'

/** A store of BullMQ. Its content can be lost, because the outbox has all jobs. */
export interface Store {
  readonly kind: 'postgres' | 'redis'
  readonly library: typeof BullMQ
  /** For queues: fails at once when the store is unavailable. */
  readonly connection: unknown
  /** For workers: waits until the store is available. */
  readonly workerConnection: unknown
  readonly factory: BackendFactory<IQueueBackend, never> | undefined
  readonly prefix: string
  /** From this number of jobs on, one bulk call is faster than a call for each job. */
  readonly bulkFrom: number
  /** How long an idle worker blocks while it waits for jobs, in seconds. */
  readonly drainDelay: number
  /** True once after the store was emptied, and on the first call with an empty store. */
  wasEmptied(): Promise<boolean>
  close(): Promise<void>
}

/** What the backend does with a job after an attempt. */
export type Verdict =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly inMs: number; readonly reason: string }
  | { readonly kind: 'dead'; readonly reason: string }
  /** Another node runs the job, because this node shuts down. */
  | { readonly kind: 'handed back' }

export interface Entry {
  readonly id: string
  readonly name: string
  readonly workspaceId: string | null
  /** The backend may already have the job, in any state. */
  readonly again: boolean
}

export interface BackendTimes {
  /** After this time without a renewal, a worker loses its job. */
  readonly lockMs: number
  /** How often the backend looks for jobs of lost workers. */
  readonly stalledMs: number
}

export const BACKEND_TIMES: BackendTimes = { lockMs: 20_000, stalledMs: 10_000 }

const LAST_NOTES_MS = 1_000
/** The library never gives up a job, because the outbox counts attempts. */
const WITHOUT_END = 1_000_000
const DEAD_KEPT = { count: 1_000, age: 7 * 24 * 3_600 }

class AgainError extends Error {
  readonly inMs: number

  constructor(reason: string, inMs: number) {
    super(reason)
    this.inMs = inMs
  }
}

/** The queues of BullMQ. A job in a queue has only its id, name and workspace. */
export class Backend {
  readonly store: Store
  readonly #log: Logger
  readonly #times: BackendTimes
  readonly #queues: ReadonlyMap<string, Queue>
  readonly #workers = new Map<string, Worker>()

  private constructor(store: Store, log: Logger, times: BackendTimes) {
    this.store = store
    this.#log = log
    this.#times = times
    this.#queues = new Map(QUEUE_NAMES.map((name) => [name, this.#openQueue(name)]))
  }

  /**
   * Opens all queues at once. The library opens each queue only once. A queue that is opened while the store is
   * unavailable would never work again.
   * @throws when the store is unavailable. Everything is closed again then
   */
  static async open(store: Store, log: Logger, times: BackendTimes): Promise<Backend> {
    const backend = new Backend(store, log, times)
    try {
      await Promise.all(QUEUE_NAMES.map((name) => backend.queue(name).waitUntilReady()))
    } catch (error) {
      await store.close()
      throw error
    }
    return backend
  }

  /** @throws Error for a name that is not in `QUEUE_NAMES` */
  queue(name: string): Queue {
    const queue = this.#queues.get(name)
    if (queue === undefined) throw new Error(`there is no queue ${name}`)
    return queue
  }

  async add(queueName: string, entries: readonly Entry[]): Promise<void> {
    const queue = this.queue(queueName)
    // BullMQ ignores a job whose id belongs to a finished job, so those are removed. Waiting and running jobs stay.
    const again = entries.filter((entry) => entry.again).map(({ id }) => id)
    const ended = await this.#inState(queue, again, ENDED)
    await Promise.all(ended.map((id) => queue.remove(id)))
    const jobs = entries.map(({ id, name, workspaceId }) => ({
      name,
      data: workspaceId === null ? {} : { workspaceId },
      opts: { ...OPTIONS, jobId: id },
    }))
    if (jobs.length >= this.store.bulkFrom) await queue.addBulk(jobs)
    // In order, because a queue runs its jobs in the order in which they were added.
    else for (const { data, name, opts } of jobs) await queue.add(name, data, opts)
  }

  /** The jobs among these that the backend has and will run or is running. */
  async known(queueName: string, ids: readonly string[]): Promise<Set<string>> {
    const lost = new Set(await this.#inState(this.queue(queueName), ids, LOST))
    return new Set(ids).difference(lost)
  }

  /** Removes jobs that are not running. */
  async remove(queueName: string, ids: readonly string[]): Promise<void> {
    const queue = this.queue(queueName)
    for (const id of ids) await queue.remove(id)
  }

  /** Starts the worker of a queue, once, with the settings of `QUEUES` unless `own` has others. `run` never throws. */
  work(queueName: QueueName, run: (id: string, name: string) => Promise<Verdict>, own: QueueBounds = {}): void {
    if (this.#workers.has(queueName)) return
    const { library, workerConnection, prefix, factory, drainDelay } = this.store
    const { concurrency, rate }: QueueSettings = { ...QUEUES[queueName], ...own }
    const process = async (job: Job, token?: string) => {
      const verdict = await run(job.id ?? '', job.name)
      if (verdict.kind === 'again') throw new AgainError(verdict.reason, verdict.inMs)
      if (verdict.kind === 'dead') throw new library.UnrecoverableError(verdict.reason)
      if (verdict.kind === 'handed back') {
        await job.moveToWait(token)
        throw new library.WaitingError()
      }
    }
    const options = {
      connection: workerConnection,
      prefix,
      concurrency,
      drainDelay,
      ...(rate && { limiter: { max: rate.max, duration: rate.perMs } }),
      lockDuration: this.#times.lockMs,
      stalledInterval: this.#times.stalledMs,
      maxStalledCount: WITHOUT_END,
      runRetryDelay: 1_000,
      settings: {
        backoffStrategy: (_made: number, _type?: string, error?: Error) => (error as AgainError).inMs ?? 1_000,
      },
    }
    const worker = new library.Worker(queueName, process as never, options as never, factory as never)
    worker.on('error', (error) => this.#log.debug({ error: error.message, queue: queueName }, 'worker'))
    worker.on('stalled', (id) => this.#log.warn({ id, queue: queueName }, 'a job was taken from a stalled worker'))
    this.#workers.set(queueName, worker)
  }

  /** Takes no more jobs. Running jobs continue. */
  async pause(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.pause(true)))
  }

  /** Closes the backend when the last results are stored, or after a timeout. Locks of other jobs then expire. */
  async close(): Promise<void> {
    const closing = Promise.all([...this.#workers.values()].map((worker) => worker.close()))
    await Promise.race([closing, delay(LAST_NOTES_MS, undefined, { ref: false })])
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()))
    await this.store.close()
  }

  #openQueue(name: QueueName): Queue {
    const { library, connection, prefix, factory } = this.store
    const options = { connection, prefix, skipWaitingForReady: true }
    const queue = new library.Queue(name, options as never, factory as never)
    queue.on('error', (error) => this.#log.debug({ error: error.message, queue: name }, 'queue'))
    return queue
  }

  async #inState(queue: Queue, ids: readonly string[], wanted: ReadonlySet<string>): Promise<string[]> {
    const states = await Promise.all(ids.map((id) => queue.getJobState(id)))
    return ids.filter((_, index) => wanted.has(states[index] ?? 'unknown'))
  }
}

const OPTIONS = {
  attempts: WITHOUT_END,
  backoff: { type: 'custom' },
  removeOnComplete: true,
  removeOnFail: DEAD_KEPT,
} satisfies JobsOptions

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed'])
const LOST: ReadonlySet<string> = new Set([...ENDED, 'unknown'])
