import { setTimeout as delay } from 'node:timers/promises'
import type { Coordination } from '../coordination/coordination.ts'
import type { Clock } from '../core/clock.ts'
import { QUEUE_NAMES, type QueueBounds, type QueueName } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { Database } from '../db/database.ts'
import { Backend, BACKEND_TIMES, type BackendTimes } from './backend.ts'
import { queueBoard } from './board.ts'
import { Dispatcher } from './dispatcher.ts'
import { Lines } from './lines.ts'
import { Runner, type RunnerOptions } from './runner.ts'
import { Schedules } from './schedules.ts'
import { JOBS_REMOVED } from './queue-service.ts'
import { JOBS_ADDED, type JobService } from './service.ts'
import { openStore, type StoreChoice } from './stores.ts'
import { Sweeper } from './sweeper.ts'

export interface JobTimes extends BackendTimes {
  /** How often the outbox is looked into without a notice. */
  readonly pollMs: number
  /** How often rows are compared with the backend, and how old they are then at least. */
  readonly sweepMs: number
  readonly graceMs: number
  /** How long a shutdown waits before it tells jobs to stop. */
  readonly drainMs: number
  /** How long after the start schedules are first looked at: a start has other things to do. */
  readonly schedulesAfterMs: number
}

export const JOB_TIMES: JobTimes = {
  ...BACKEND_TIMES,
  pollMs: 5_000,
  sweepMs: 15_000,
  graceMs: 30_000,
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
  readonly store: StoreChoice
  /** Where it is not what `QUEUES` says. */
  readonly queues?: Partial<Record<QueueName, QueueBounds>> | undefined
  readonly onRun: RunnerOptions['onRun']
  readonly onEnded: RunnerOptions['onEnded']
  readonly onProgress: RunnerOptions['onProgress']
  readonly times?: Partial<JobTimes>
}

/**
 * What a node with the role jobs does: hands out what is due, runs it, and looks after what got lost. Connects to its
 * queues when the first job comes.
 */
export class JobRuntime {
  readonly #options: JobRuntimeOptions
  readonly #times: JobTimes
  readonly #dispatcher: Dispatcher
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
    this.#runner = new Runner({ ...options, outbox, rows, declared, onLine: () => this.#dispatcher.wake() })
    this.#schedules = new Schedules(database, clock, jobs)
    this.#sweeper = new Sweeper({ outbox, clock, log, graceMs: this.#times.graceMs })
    this.#lines = new Lines(database, clock, options.queues)
    this.#dispatcher = new Dispatcher({
      outbox,
      lines: this.#lines,
      clock,
      log,
      backend: () => this.backend(),
      onQueue: (queue) => this.#work(queue),
      pollMs: this.#times.pollMs,
    })
    this.#ends.push(
      coordination.subscribe(JOBS_ADDED, () => this.#dispatcher.wake()),
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

  /** The queues, connected when first asked for. */
  backend(): Promise<Backend> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Pages to look at the queues. */
  async board(): Promise<Awaited<ReturnType<typeof queueBoard>>> {
    this.#board ??= queueBoard(await this.backend())
    return this.#board
  }

  /** Takes no more jobs, gives those under way some time, and hands back what takes longer. Within 10 s. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#closed = true
    for (const end of this.#ends) end()
    await soon(Promise.all([this.#dispatcher.close(), this.#round]))
    const backend = await soon(this.#opening?.catch(() => undefined))
    // One that opens later is closed then.
    if (backend === undefined) this.#opening?.then((late) => late.close()).catch(() => undefined)
    await soon(backend?.pause())
    await this.#runner.drain(this.#times.drainMs)
    await soon(backend?.close())
  }

  async #open(): Promise<Backend> {
    const { database, log, store } = this.#options
    return Backend.open(await openStore(store, database, log), log, this.#times)
  }

  /** @throws when the store is away: the next round tries again */
  async #work(queue: QueueName): Promise<void> {
    if (this.#working.has(queue)) return
    const backend = await this.backend()
    if (this.#closed || this.#working.has(queue)) return
    backend.work(queue, (id) => this.#runner.run(id), this.#options.queues?.[queue])
    this.#working.add(queue)
  }

  /** An administrator has removed jobs. Those that a queue keeps all the same find nothing to do when it is their turn. */
  #forget({ queue, ids }: { queue: string; ids: readonly string[] }): void {
    this.#opening
      ?.then((backend) => backend.remove(queue, ids))
      .catch((error: unknown) => this.#options.log.debug({ error, queue }, 'removed jobs stay in their queue'))
  }

  #tick(): void {
    if (this.#closed) return
    this.#round ??= this.#look()
      .catch((error: unknown) => {
        this.#options.log.warn({ error: (error as Error).message }, 'looking after jobs failed; trying again')
      })
      .finally(() => {
        this.#round = undefined
      })
  }

  /** Schedules that are due, queues that other nodes have filled, and jobs that got lost. */
  async #look(): Promise<void> {
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

/** A store that is away must not hold up a shutdown: what is not told it now, its locks tell later. */
async function soon<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([work, delay(1_500, undefined, { signal: over.signal }).catch(() => undefined)])
  } finally {
    over.abort()
  }
}
