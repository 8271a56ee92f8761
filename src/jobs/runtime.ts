import { setTimeout as delay } from 'node:timers/promises'
import type { Coordination } from '../coordination/coordination.ts'
import type { Clock } from '../core/clock.ts'
import { QUEUE_NAMES, type QueueBounds, type QueueName } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { MainThread } from '../core/main-thread.ts'
import type { Services } from '../core/services.ts'
import type { Database } from '../db/database.ts'
import { Backend, BACKEND_TIMES, type BackendTimes } from './backend.ts'
import { queueBoard } from './board.ts'
import { Dispatcher } from './dispatcher.ts'
import { Holding, type HoldingOptions } from './holding.ts'
import { Lines } from './lines.ts'
import { Runner, type RunnerOptions } from './runner.ts'
import { Schedules } from './schedules.ts'
import { JOBS_REMOVED } from './queue-service.ts'
import { JOBS_ADDED, type JobService } from './service.ts'
import { openStore, type StoreChoice } from './stores.ts'
import { Sweeper } from './sweeper.ts'

export interface JobTimes extends BackendTimes {
  /** How often the outbox is polled without a notice. */
  readonly pollMs: number
  /** How often rows are compared with the backend, and the minimum age of such rows. */
  readonly sweepMs: number
  readonly graceMs: number
  /** How long a shutdown waits before it aborts jobs. */
  readonly drainMs: number
  /** Delay of the first check of schedules, to keep the start of the node fast. */
  readonly schedulesAfterMs: number
}

/**
 * Another node has the jobs of a killed one after at most half a minute: those it ran after `lockMs` and `stalledMs`, those
 * it had claimed or reported as done after `graceMs` and two sweeps.
 */
export const JOB_TIMES: JobTimes = {
  ...BACKEND_TIMES,
  pollMs: 5_000,
  sweepMs: 10_000,
  graceMs: 10_000,
  drainMs: 2_500,
  schedulesAfterMs: 10_000,
}

export interface JobRuntimeOptions {
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly log: Logger
  readonly jobs: JobService
  readonly services: () => Services
  /** Counts how long jobs keep the main thread. */
  readonly thread?: MainThread
  readonly store: StoreChoice
  readonly switches: HoldingOptions['switches']
  readonly serviceOf: HoldingOptions['serviceOf']
  /** Settings that differ from `QUEUES`. */
  readonly queues?: Partial<Record<QueueName, QueueBounds>> | undefined
  readonly onRun: RunnerOptions['onRun']
  readonly onEnded: RunnerOptions['onEnded']
  readonly onProgress: RunnerOptions['onProgress']
  readonly times?: Partial<JobTimes>
}

/**
 * The job runtime of a node with the role `jobs`: it dispatches due jobs, runs them, and finds lost ones. It connects to
 * the queues when the first job is due.
 */
export class JobRuntime {
  readonly #options: JobRuntimeOptions
  readonly #times: JobTimes
  readonly #dispatcher: Dispatcher
  readonly #holding: Holding
  readonly #lines: Lines
  readonly #runner: Runner
  readonly #schedules: Schedules
  readonly #sweeper: Sweeper
  readonly #working = new Set<string>()
  readonly #ends: (() => void)[] = []
  #board: ReturnType<typeof queueBoard> | undefined
  #opening: Promise<Backend> | undefined
  #round: Promise<void> | undefined
  #sweptAt: number
  readonly #startedAt: number
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: JobRuntimeOptions) {
    const { clock, coordination, database, jobs, log } = options
    this.#options = options
    this.#times = { ...JOB_TIMES, ...options.times }
    const { outbox, rows, declared } = jobs
    const wake = () => this.#dispatcher.wake()
    this.#holding = new Holding({ ...options, everyMs: this.#times.pollMs }, wake)
    this.#runner = new Runner({ ...options, outbox, rows, declared, holding: this.#holding, onLine: wake })
    this.#schedules = new Schedules(database, clock, jobs)
    this.#sweeper = new Sweeper({ outbox, clock, log, graceMs: this.#times.graceMs })
    this.#lines = new Lines(database, clock, options.queues)
    this.#dispatcher = new Dispatcher({
      outbox,
      lines: this.#lines,
      holding: this.#holding,
      clock,
      log,
      backend: () => this.backend(),
      onQueue: (queue) => this.#work(queue),
      pollMs: this.#times.pollMs,
    })
    this.#ends.push(
      () => this.#holding.close(),
      coordination.subscribe(JOBS_ADDED, wake),
      coordination.subscribe(JOBS_REMOVED, (notice) => this.#forget(notice as { queue: string; ids: string[] })),
    )
    const timer = setInterval(() => this.#tick(), Math.min(this.#times.pollMs, this.#times.sweepMs)).unref()
    this.#ends.push(() => clearInterval(timer))
    this.#startedAt = this.#sweptAt = performance.now()
    this.#dispatcher.wake()
    this.#tick()
  }

  /** Jobs that this node runs now. */
  get running(): number {
    return this.#runner.running
  }

  /** The queues, connected on first use. @throws Error after the shutdown has begun, if they were not connected before */
  async backend(): Promise<Backend> {
    // Nothing would close it.
    if (this.#closed && this.#opening === undefined) throw new Error('the node is shutting down')
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Web pages that show the queues. */
  async board(): Promise<Awaited<ReturnType<typeof queueBoard>>> {
    this.#board ??= queueBoard(await this.backend())
    return this.#board
  }

  /** Takes no more jobs, gives running jobs some time, and hands back those that take longer. Takes at most 10 s. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#closed = true
    for (const end of this.#ends) end()
    await soon(Promise.all([this.#dispatcher.close(), this.#round]))
    const backend = await soon(this.#opening?.catch(() => undefined))
    // A backend that opens later is closed at once.
    if (backend === undefined) this.#opening?.then((late) => late.close()).catch(() => undefined)
    await soon(backend?.pause())
    await this.#runner.drain(this.#times.drainMs)
    await soon(backend?.close())
  }

  async #open(): Promise<Backend> {
    const { database, log, store } = this.#options
    return Backend.open(await openStore(store, database, log), log, this.#times)
  }

  /** @throws when the store is unavailable. The next round tries again */
  async #work(queue: QueueName): Promise<void> {
    if (this.#working.has(queue)) return
    const backend = await this.backend()
    // A worker that starts during the shutdown would take jobs only to hand them back.
    if (this.#closed) return
    backend.work(queue, (id, name) => this.#runner.run(id, name), this.#options.queues?.[queue])
    this.#working.add(queue)
  }

  /** Removes jobs that an administrator has deleted from their queue. If this fails, workers find no row and skip them. */
  #forget({ queue, ids }: { queue: string; ids: readonly string[] }): void {
    this.#opening
      ?.then((backend) => backend.remove(queue, ids))
      .catch((error: unknown) =>
        this.#options.log.debug({ error, queue }, 'deleted jobs could not be removed from their queue'),
      )
  }

  #tick(): void {
    if (this.#closed) return
    this.#round ??= this.#runRound()
      .catch((error: unknown) => {
        this.#options.log.warn({ error: (error as Error).message }, 'the periodic check of jobs failed; trying again')
      })
      .finally(() => {
        this.#round = undefined
      })
  }

  /** Runs due schedules, starts workers for queues with jobs, and finds lost jobs. */
  async #runRound(): Promise<void> {
    const { jobs } = this.#options
    await this.#runSchedules()
    const idle = QUEUE_NAMES.filter((queue) => !this.#working.has(queue))
    for (const queue of await jobs.outbox.queuesInUse(idle)) await this.#work(queue as QueueName)
    if (performance.now() - this.#sweptAt < this.#times.sweepMs) return
    this.#sweptAt = performance.now()
    const dissolved = await this.#lines.dissolve()
    const found = this.#opening === undefined ? 0 : await this.#sweeper.sweep(await this.backend())
    if (dissolved + found > 0) this.#dispatcher.wake()
  }

  async #runSchedules(): Promise<void> {
    if (this.#schedules.isEmpty || performance.now() - this.#startedAt < this.#times.schedulesAfterMs) return
    await this.#schedules.run()
  }
}

/** Limits the time that an unavailable store can delay a shutdown. Locks that are not released expire. */
async function soon<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([work, delay(1_500, undefined, { signal: over.signal }).catch(() => undefined)])
  } finally {
    over.abort()
  }
}
