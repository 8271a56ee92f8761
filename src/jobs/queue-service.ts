import type { Static } from 'typebox'
import type { Coordination } from '../coordination/coordination.ts'
import { DAY, type Clock } from '../core/clock.ts'
import { Conflict, NotFound } from '../core/errors.ts'
import { JOB_DEFAULTS, QUEUES, QUEUE_NAMES, type AnyJob, type QueueBounds, type QueueName } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import { pageOf, pageRequest } from '../core/page.ts'
import type { PageResult } from '../core/reply.ts'
import { anyOf, atMost, type Where } from '../db/condition.ts'
import { deleteInBatches, inBatches } from '../db/delete-in-batches.ts'
import type { Database } from '../db/database.ts'
import type { RowInput } from '../db/row.ts'
import { announce } from './announce.ts'
import { jobFinished } from './events.ts'
import { countPeriods, countsByQueue, forgetPeriods, latenciesByQueue, throughputByQueue } from './queue-counts.ts'
import { conditionOf, findJob, jobView, listJobs, WAITING, type JobRow } from './queue-rows.ts'
import type { CleanBody, JobQuery, JobView, QueueStats } from './schemas.ts'
import { JOBS_ADDED } from './service.ts'
import { outbox, finishedJobs, type OutboxRow } from './tables.ts'

/** Notice to nodes with the role `jobs`: they remove these jobs from their queues. */
export const JOBS_REMOVED = 'jobs.removed'

const FINISHED_KEPT_MS = DAY
const DEAD_KEPT_MS = 30 * DAY
const REMOVED = 'deleted by an administrator'

export interface QueueServiceOptions {
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly declared: ReadonlyMap<string, AnyJob>
  /** The service of each job that waits while its service is switched off, by the name of the job. */
  readonly serviceOf: ReadonlyMap<string, string>
  /** Settings that differ from `QUEUES`. */
  readonly bounds?: Partial<Record<QueueName, QueueBounds>>
  readonly log: Logger
}

/** Operations of administrators on jobs. They use the database only, so they are the same for all queue backends. */
export class QueueService {
  readonly #options: QueueServiceOptions

  constructor(options: QueueServiceOptions) {
    this.#options = options
  }

  /** Newest first. */
  async list(query: Static<typeof JobQuery>): Promise<PageResult<Static<typeof JobView>>> {
    const page = pageRequest(query)
    const rows = await listJobs(this.#options.database, query, page, this.#now())
    const key = ({ createdAt, id }: JobRow) => ({ createdAt, id })
    return pageOf(rows, page.limit, key, (row) => this.#view(row))
  }

  async stats(): Promise<Static<typeof QueueStats>[]> {
    const { clock, database } = this.#options
    const now = clock.now()
    const [counts, finished, latencies] = await Promise.all([
      countsByQueue(database, now),
      throughputByQueue(database, now),
      latenciesByQueue(database, now),
    ])
    return QUEUE_NAMES.map((queue) => {
      const { concurrency, summary } = { ...QUEUES[queue], ...this.#options.bounds?.[queue] }
      const counted = counts.find((row) => row.queue === queue)
      const done = finished.find((row) => row.queue === queue)
      const spent = latencies.find((row) => row.queue === queue)
      return {
        queue,
        summary,
        concurrency,
        waiting: counted?.waiting ?? 0,
        held: counted?.held ?? 0,
        delayed: counted?.delayed ?? 0,
        active: counted?.active ?? 0,
        dead: counted?.dead ?? 0,
        oldestWaitingSeconds: Math.max(0, counted?.oldest ?? 0),
        throughput: { lastMinute: done?.minute ?? 0, lastHour: done?.hour ?? 0, lastDay: done?.day ?? 0 },
        waitMs: spread(spent?.waitMs),
        runMs: spread(spent?.runMs),
      }
    })
  }

  /** Deletes jobs in one state that have not changed for some time, never running ones. @returns how many */
  async clean({ queue, state, olderThan }: Static<typeof CleanBody>): Promise<number> {
    const before = new Date(this.#options.clock.now() - olderThan * 1_000)
    if (state === 'done') return this.#forgetFinished(queue, before)
    return this.#remove(queue, conditionOf(state, this.#now()), before)
  }

  /** Deletes all jobs of a queue that are not running, and the records of done jobs. @returns how many */
  async clear(queue: QueueName): Promise<number> {
    return (
      (await this.#remove(queue, { state: anyOf(['waiting', 'held', 'queued', 'dead']) })) +
      (await this.#forgetFinished(queue))
    )
  }

  /** Deletes waiting, held and delayed jobs. Running and dead jobs stay. @returns how many */
  async drain(queue: QueueName): Promise<number> {
    return this.#remove(queue, WAITING)
  }

  /** Runs a dead job again, with the full number of attempts. @throws AppError not_found, conflict */
  async retry(id: string): Promise<Static<typeof JobView>> {
    const { coordination, database } = this.#options
    const now = this.#now()
    const changes = { state: 'waiting', attempts: 0, runAt: now, updatedAt: now } as const
    const changed = await outbox.update(database, { id, state: 'dead' }, changes)
    const row = await findJob(database, id, now)
    if (changed > 0) coordination.publish(JOBS_ADDED, {})
    if (row === undefined) throw NotFound()
    if (changed === 0) throw Conflict({ message: `The job is ${row.state}. Only dead jobs can be retried.` })
    return this.#view(row)
  }

  /** Counts finished jobs, and deletes old records of done and dead jobs. Stops early when the signal is aborted. */
  async forget(signal?: AbortSignal): Promise<void> {
    const now = this.#options.clock.now()
    await countPeriods(this.#options.database, now)
    await this.#forgetFinished(undefined, new Date(now - FINISHED_KEPT_MS), signal)
    await this.#remove(undefined, { state: 'dead' }, new Date(now - DEAD_KEPT_MS), signal)
  }

  /** @returns how many */
  async #forgetFinished(queue?: QueueName, before?: Date, signal?: AbortSignal): Promise<number> {
    const { database } = this.#options
    if (queue !== undefined) await forgetPeriods(database, queue, before)
    const where = { ...(queue && { queue }), ...(before && { finishedAt: atMost(before) }) }
    return deleteInBatches(finishedJobs, database, where, signal)
  }

  /** Deletes jobs. Members who follow one of them get an event that it is dead. @returns how many */
  async #remove(
    queue: QueueName | undefined,
    where: Where<RowInput<typeof OutboxRow>>,
    before?: Date,
    signal?: AbortSignal,
  ): Promise<number> {
    const all = { ...where, ...(queue && { queue }), ...(before && { updatedAt: atMost(before) }) }
    return inBatches((limit) => this.#removeSome(all, limit), signal)
  }

  async #removeSome(where: Where<RowInput<typeof OutboxRow>>, limit: number): Promise<readonly unknown[]> {
    const { coordination, database, log } = this.#options
    const rows = await outbox.deleteSome(database, where, limit, ['id', 'name', 'queue', 'workspaceId', 'state'])
    for (const [name, some] of Map.groupBy(rows, (row) => row.queue)) {
      log.info({ queue: name, count: some.length }, 'jobs were deleted')
      coordination.publish(JOBS_REMOVED, { queue: name, ids: some.map(({ id }) => id) })
    }
    for (const row of rows) {
      if (row.state !== 'dead') announce(this.#options, row, jobFinished, { state: 'dead', error: REMOVED })
    }
    return rows
  }

  #view(row: JobRow): Static<typeof JobView> {
    const declared = this.#options.declared.get(row.name)
    return jobView(row, declared && (declared.attempts ?? JOB_DEFAULTS.attempts), this.#options.serviceOf.get(row.name))
  }

  #now(): Date {
    return new Date(this.#options.clock.now())
  }
}

function spread(values: readonly number[] | null | undefined) {
  if (values == null) return null
  const [p50 = 0, p95 = 0, p99 = 0] = values.map((value) => Math.round(value * 10) / 10)
  return { p50, p95, p99 }
}
