import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Logger } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import { announce, type AnnounceOptions } from './announce.ts'
import { jobFinished, jobProgress } from './events.ts'
import type { StartedRow } from './ledger.ts'
import type { EndedJob } from './outbox.ts'
import { countsByQueue } from './queue-counts.ts'
import type { JobRun } from './runner.ts'

const PROGRESS_EVERY_MS = 500
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800]

export interface ObserverOptions extends AnnounceOptions {
  readonly sql: Sql
  readonly metrics: Registry
  readonly log: Logger
}

/** Reports jobs to the log (one line per attempt), to metrics, and to the sockets of members who can see them. */
export class JobObserver {
  readonly #options: ObserverOptions
  /** The last reported progress of running jobs. */
  readonly #reported = new Map<string, { readonly at: number; readonly percent: number }>()
  readonly #counts: ReturnType<typeof measures>

  constructor(options: ObserverOptions) {
    this.#options = options
    this.#counts = measures(options)
  }

  /** Reports progress at most twice a second for each job, and 100 % at once. NaN is ignored. */
  progress(row: StartedRow, wanted: number, detail: string | undefined, partialText?: string): void {
    const percent = Math.min(100, Math.max(0, wanted))
    if (Number.isNaN(percent)) return
    const at = this.#options.clock.monotonic()
    const before = this.#reported.get(row.id)
    const isEnd = percent === 100 && before?.percent !== 100
    if (before !== undefined && !isEnd && at - before.at < PROGRESS_EVERY_MS) return
    this.#reported.set(row.id, { at, percent })
    announce(this.#options, row, jobProgress, { percent, detail: detail ?? null, partialText: partialText ?? null })
  }

  ended(run: JobRun): void {
    const { outcome, ranMs, reason, row, waitedMs } = run
    this.#reported.delete(row.id)
    this.#counts.runs.inc({ job: row.name, outcome })
    this.#counts.run.observe({ queue: row.queue }, ranMs / 1_000)
    if (row.attempts === 1) this.#counts.wait.observe({ queue: row.queue }, waitedMs / 1_000)
    this.#log(run)
    if (outcome !== 'done' && outcome !== 'dead') return
    announce(this.#options, row, jobFinished, { state: outcome, error: reason ?? null })
  }

  /** Reports a job that had already ended. The node that ended it may have been killed before it could report that. */
  endedBefore(job: EndedJob): void {
    const { id, name, reason, state } = job
    this.#options.log.info({ job: name, id, state }, 'a job had already ended')
    announce(this.#options, job, jobFinished, { state, error: reason })
  }

  #log({ outcome, ranMs, reason, row, waitedMs }: JobRun): void {
    const level = outcome === 'dead' ? 'error' : outcome === 'done' || outcome === 'handed back' ? 'info' : 'warn'
    this.#options.log[level](
      {
        job: row.name,
        id: row.id,
        queue: row.queue,
        ...(row.workspaceId !== null && { workspaceId: row.workspaceId }),
        attempt: row.attempts,
        outcome,
        ...(reason !== undefined && { reason }),
        waitedMs: Math.round(waitedMs),
        ms: Math.round(ranMs * 10) / 10,
      },
      'job',
    )
  }
}

function measures({ clock, log, metrics, sql }: ObserverOptions) {
  const registers = [metrics]
  void new Gauge({
    name: 'crier_jobs_held',
    help: 'Jobs that are not done, by queue and state, at most 10,000 each',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      try {
        const rows = await countsByQueue(sql, clock.now())
        this.reset()
        for (const row of rows) {
          for (const state of ['waiting', 'held', 'delayed', 'active', 'dead'] as const) {
            this.set({ queue: row.queue, state }, row[state])
          }
        }
      } catch (error) {
        log.debug({ error }, 'jobs could not be counted for metrics')
      }
    },
  })
  return {
    runs: new Counter({
      name: 'crier_job_attempts_total',
      help: 'Attempts at jobs, by outcome',
      labelNames: ['job', 'outcome'],
      registers,
    }),
    run: new Histogram({
      name: 'crier_job_run_seconds',
      help: 'Duration of attempts at jobs',
      labelNames: ['queue'],
      buckets: SECONDS,
      registers,
    }),
    wait: new Histogram({
      name: 'crier_job_wait_seconds',
      help: 'Time between the due time of a job and its first start',
      labelNames: ['queue'],
      buckets: SECONDS,
      registers,
    }),
  }
}
