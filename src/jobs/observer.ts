import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Coordination } from '../coordination/coordination.ts'
import type { Clock } from '../core/clock.ts'
import type { EventData, EventType, WorkspaceEvent } from '../core/event.ts'
import type { AnyJob } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import { jobFinished, jobProgress } from './events.ts'
import type { StartedRow } from './ledger.ts'
import { COUNTS, type CountRow } from './queue-rows.ts'
import type { JobRun } from './runner.ts'

const PROGRESS_EVERY_MS = 500
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800]

export interface ObserverOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly coordination: Coordination
  readonly declared: ReadonlyMap<string, AnyJob>
  readonly metrics: Registry
  readonly log: Logger
}

/** Tells of jobs: to logs (a line a run), to metrics, and to the sockets of those who may see them. */
export class JobObserver {
  readonly #options: ObserverOptions
  readonly #told = new Map<string, number>()
  readonly #counts: ReturnType<typeof measures>

  constructor(options: ObserverOptions) {
    this.#options = options
    this.#counts = measures(options)
  }

  progress(row: StartedRow, declared: AnyJob, percent: number, detail: string | undefined): void {
    const now = this.#options.clock.monotonic()
    const before = this.#told.get(row.id)
    if (before !== undefined && percent < 100 && now - before < PROGRESS_EVERY_MS) return
    this.#told.set(row.id, now)
    this.#emit(row, declared, jobProgress, { percent: Math.min(100, Math.max(0, percent)), detail: detail ?? null })
  }

  ended(run: JobRun): void {
    const { outcome, ranMs, reason, row, waitedMs } = run
    this.#told.delete(row.id)
    this.#counts.runs.inc({ job: row.name, outcome })
    this.#counts.run.observe({ queue: row.queue }, ranMs / 1_000)
    if (row.attempts === 1) this.#counts.wait.observe({ queue: row.queue }, waitedMs / 1_000)
    this.#log(run)
    const declared = this.#options.declared.get(row.name)
    if (declared === undefined || (outcome !== 'done' && outcome !== 'dead')) return
    this.#emit(row, declared, jobFinished, { state: outcome, reason: reason ?? null })
  }

  #log({ outcome, ranMs, reason, row, waitedMs }: JobRun): void {
    const level = outcome === 'dead' ? 'error' : outcome === 'done' || outcome === 'handed back' ? 'info' : 'warn'
    this.#options.log[level](
      {
        job: row.name,
        id: row.id,
        queue: row.queue,
        ...(row.workspace_id !== null && { workspaceId: row.workspace_id }),
        attempt: row.attempts,
        outcome,
        ...(reason !== undefined && { reason }),
        waitedMs: Math.round(waitedMs),
        ms: Math.round(ranMs * 10) / 10,
      },
      'job',
    )
  }

  #emit<E extends EventType>(
    row: StartedRow,
    { seenBy: scope }: AnyJob,
    type: E,
    data: Omit<EventData<E>, 'workspaceId' | 'jobId' | 'name'>,
  ): void {
    const { clock, coordination } = this.#options
    if (row.workspace_id === null || scope === undefined) return
    const workspaceId = row.workspace_id
    const at = new Date(clock.now()).toISOString()
    const whole = { workspaceId, jobId: row.id, name: row.name, ...data }
    const event: WorkspaceEvent = { workspaceId, seq: 0, type: type.name, data: whole, at, scope }
    coordination.publish(`ev:${workspaceId}`, [event])
  }
}

function measures({ clock, log, metrics, sql }: ObserverOptions) {
  const registers = [metrics]
  void new Gauge({
    name: 'crier_jobs_held',
    help: 'Jobs that are not done, by queue and state',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      try {
        const rows = await sql.rows<CountRow>(COUNTS, [new Date(clock.now())])
        this.reset()
        for (const row of rows) {
          for (const state of ['waiting', 'delayed', 'active', 'dead'] as const) {
            this.set({ queue: row.queue, state }, row[state])
          }
        }
      } catch (error) {
        log.debug({ error }, 'jobs could not be counted for the metrics')
      }
    },
  })
  return {
    runs: new Counter({
      name: 'crier_job_attempts_total',
      help: 'Attempts at jobs, by what became of them',
      labelNames: ['job', 'outcome'],
      registers,
    }),
    run: new Histogram({
      name: 'crier_job_run_seconds',
      help: 'How long attempts at jobs took',
      labelNames: ['queue'],
      buckets: SECONDS,
      registers,
    }),
    wait: new Histogram({
      name: 'crier_job_wait_seconds',
      help: 'From the time a job was due to its first start',
      labelNames: ['queue'],
      buckets: SECONDS,
      registers,
    }),
  }
}
