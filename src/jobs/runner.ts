import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import { uuidv7 } from '../tools/id.ts'
import { AttemptLostError, UnrecoverableError, JOB_DEFAULTS, type AnyJob, type Attempt } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { MainThread } from '../core/main-thread.ts'
import type { Services } from '../core/services.ts'
import { working } from '../tools/work-time.ts'
import type { Database } from '../db/database.ts'
import type { Verdict } from './backend.ts'
import type { Holding } from './holding.ts'
import type { StartedRow } from './ledger.ts'
import type { EndedJob, Outbox } from './outbox.ts'
import { jobContextFactory } from './job-context.ts'
import { withoutSecrets } from './redact.ts'
import type { JobRows } from './rows.ts'
import { Stop, GRACE_MS } from './stop.ts'

export interface JobRun {
  readonly row: StartedRow
  readonly outcome: 'done' | 'again' | 'dead' | 'lost' | 'handed back'
  readonly reason: string | undefined
  /** Milliseconds between the due time and the start. */
  readonly waitedMs: number
  readonly ranMs: number
}

export interface RunnerOptions {
  readonly database: Database
  readonly outbox: Outbox
  readonly rows: JobRows
  readonly holding: Pick<Holding, 'hold'>
  readonly declared: ReadonlyMap<string, AnyJob>
  readonly clock: Clock
  readonly log: Logger
  readonly services: () => Services
  /** Counts how long jobs keep the main thread. */
  readonly thread?: MainThread
  /** Called when a job of a fair queue has started or an attempt has ended, so that the dispatcher can add another one. */
  readonly onLine: () => void
  /** Called after every attempt. */
  readonly onRun: (run: JobRun) => void
  /** Called for jobs that had already ended. The node that ended them may have been killed before it could report that. */
  readonly onEnded: (job: EndedJob) => void
  readonly onProgress: (
    row: StartedRow,
    percent: number,
    detail: string | undefined,
    partialText: string | undefined,
  ) => void
}

class ShutdownError extends Error {
  override readonly name = 'ShutdownError'
}

/** How often, and with which delay, writing the start or end of an attempt is tried. */
const TRIES = 10
const PAUSE_MS = 1_000
const MAX_REASON = 2_000
/** An unknown job may belong to a newer version whose nodes are starting, so it is retried for a quarter of an hour. */
const UNKNOWN_BACKOFF = { firstMs: 60_000, maxMs: 10 * 60_000 }

const DONE: Verdict = { kind: 'done' }

/** The result of an attempt. */
interface Settled {
  readonly outcome: JobRun['outcome']
  readonly verdict: Verdict
  readonly reason?: string
}

/** Runs attempts at jobs and stores their results. */
export class Runner {
  readonly #options: RunnerOptions
  readonly #running = new Map<Promise<void>, Stop>()
  #context: ReturnType<typeof jobContextFactory> | undefined
  /** Delay before the database is tried again, shared by all attempts. */
  #retryPause: Promise<void> | undefined
  #closing = false

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running.size
  }

  /**
   * Runs one attempt at a job of the backend. Never throws. The backend gets the result of a successful job before it is
   * stored. If storing fails, the row still says that the job has not ended, and it runs again.
   */
  run(id: string, name: string): Promise<Verdict> {
    return new Promise((resolve) => {
      const stop = new Stop()
      const running = this.#run(id, name, stop, resolve).finally(() => this.#running.delete(running))
      this.#running.set(running, stop)
    })
  }

  /** Waits for running attempts. After the timeout it aborts them and hands their jobs back. */
  async drain(withinMs: number): Promise<void> {
    this.#closing = true
    await Promise.race([Promise.all(this.#running.keys()), delay(withinMs)])
    for (const stop of this.#running.values()) stop.abort(new ShutdownError('the node is shutting down'))
    await Promise.race([Promise.all(this.#running.keys()), delay(GRACE_MS + 500)])
  }

  async #run(id: string, name: string, stop: Stop, give: (verdict: Verdict) => void): Promise<void> {
    const { clock } = this.#options
    const row = await this.#begin(id, name, give)
    if (row === undefined) return
    if (row.line !== null) this.#options.onLine()
    const began = clock.monotonic()
    const waitedMs = Math.max(0, clock.now() - Date.parse(row.runAt))
    const { outcome, verdict, reason } = await this.#settle(row, stop, give)
    give(verdict)
    if (row.line !== null) this.#options.onLine()
    this.#options.onRun({ row, outcome, reason, waitedMs, ranMs: clock.monotonic() - began })
  }

  /**
   * Starts an attempt as soon as the database answers. Undefined when there is nothing to run, or the job is held because
   * its service is switched off. `give` was called then.
   */
  async #begin(id: string, name: string, give: (verdict: Verdict) => void): Promise<StartedRow | undefined> {
    const { clock, holding, outbox } = this.#options
    for (let tries = 1; !this.#closing; tries += 1) {
      try {
        if (await holding.hold(id, name)) {
          give(DONE)
          this.#options.onLine()
          return undefined
        }
        const row = await outbox.start(id, uuidv7(clock.now()))
        if (row !== undefined) return row
        give(DONE)
        const ended = await outbox.ended(id)
        if (ended !== undefined) this.#options.onEnded(ended)
        return undefined
      } catch (error) {
        if (tries === TRIES) {
          give({ kind: 'again', inMs: PAUSE_MS, reason: reasonOf(error) })
          return undefined
        }
        await this.#waitAfter(error)
      }
    }
    give({ kind: 'handed back' })
    return undefined
  }

  /** While the database is unavailable, all attempts wait for the same delay, which is logged once. */
  #waitAfter(failure: unknown): Promise<void> {
    this.#retryPause ??= this.#pause(failure)
    return this.#retryPause
  }

  async #pause(failure: unknown): Promise<void> {
    const message = (failure as Error).message
    this.#options.log.warn({ error: message }, 'attempts could not be stored; trying again')
    await delay(PAUSE_MS)
    this.#retryPause = undefined
  }

  async #settle(row: StartedRow, stop: Stop, give: (verdict: Verdict) => void): Promise<Settled> {
    const declared = this.#options.declared.get(row.name)
    let ended: boolean
    try {
      ended = await this.#attempt(row, declared, stop)
    } catch (error) {
      return this.#settleFailure(row, declared, stop, error)
    }
    give(DONE)
    if (ended) return { outcome: 'done', verdict: DONE }
    return { outcome: (await this.#finish(row)) ? 'done' : 'lost', verdict: DONE }
  }

  /** Stores that a job has ended. If all tries fail, the job runs again. @returns whether this attempt ended it */
  async #finish(row: StartedRow): Promise<boolean> {
    const { outbox } = this.#options
    for (let tries = 1; ; tries += 1) {
      try {
        return (await outbox.finish(row.id, row.attemptId)) || (await outbox.isDoneBy(row))
      } catch (error) {
        if (tries === TRIES || this.#closing) return false
        await this.#waitAfter(error)
      }
    }
  }

  async #settleFailure(row: StartedRow, declared: AnyJob | undefined, stop: Stop, error: unknown): Promise<Settled> {
    const { clock, outbox, log } = this.#options
    const key = { id: row.id, attemptId: row.attemptId }
    if (error instanceof AttemptLostError) return { outcome: 'lost', verdict: DONE, reason: error.message }
    const reason = reasonOf(error)
    try {
      if (stop.reason instanceof ShutdownError) {
        const back = await outbox.handBack(key)
        return back
          ? { outcome: 'handed back', verdict: { kind: 'handed back' }, reason }
          : { outcome: 'lost', verdict: DONE, reason }
      }
      const inMs = this.#backoff(row, declared, error)
      const again = inMs === undefined ? undefined : new Date(clock.now() + inMs)
      if (!(await outbox.fail(key, reason, again))) {
        if (!(await outbox.isDoneBy(row))) return { outcome: 'lost', verdict: DONE, reason }
        log.warn({ job: row.name, id: row.id, reason }, 'a job failed after its effect was committed, so it is done')
        return { outcome: 'done', verdict: DONE }
      }
      if (inMs === undefined) return { outcome: 'dead', verdict: { kind: 'dead', reason }, reason }
      if (row.line === null) return { outcome: 'again', verdict: { kind: 'again', inMs, reason }, reason }
      // Retries wait in their line, so that those of one workspace do not run before the jobs of others.
      return { outcome: 'again', verdict: DONE, reason }
    } catch (failed) {
      // The row is unchanged, so the job runs again.
      log.warn({ error: failed, job: row.name, id: row.id }, 'the result of a job could not be stored')
      return { outcome: 'again', verdict: { kind: 'again', inMs: 1_000, reason }, reason }
    }
  }

  /** Runs the code of the job. @returns whether the code has ended the job */
  async #attempt(row: StartedRow, declared: AnyJob | undefined, stop: Stop): Promise<boolean> {
    const { database, log, outbox, rows } = this.#options
    if (declared === undefined) throw new Error(`this version has no job ${row.name}`)
    const of = declared.attempts ?? JOB_DEFAULTS.attempts
    // All attempts were started and none has ended, so the job probably kills its workers.
    if (row.attempts > of) throw new UnrecoverableError(`given up: its worker was lost ${of} times`)
    const data = rows.read(declared, row.data)
    const key = { id: row.id, attemptId: row.attemptId }
    const attempt: Attempt = { id: row.attemptId, jobId: row.id, number: row.attempts, of }
    let ended = false
    let completed = false
    let over = false
    this.#context ??= jobContextFactory(this.#options.services())
    const context = this.#context({
      data,
      workspaceId: row.workspaceId ?? undefined,
      attempt,
      stop,
      log: () => log.child({ job: row.name, id: row.id }),
      progress: (percent, detail, partialText) => {
        if (!over) this.#options.onProgress(row, percent, detail, partialText)
      },
      effect: async (work) => {
        const value = await database.transaction(async (tx) => {
          await outbox.finishIn(tx, key)
          return work(tx)
        })
        ended = true
        return value
      },
      complete: async (sql) => {
        await outbox.finishIn(sql, key)
        completed = true
      },
    })
    // The tenant has not asked for it now, so its requests do not wait for it.
    const work = { spent: (ms: number) => this.#options.thread?.spent(row.name, [], ms) }
    try {
      await stop.within(declared.timeoutMs ?? JOB_DEFAULTS.timeoutMs, async () =>
        working(work, () => declared.run(context)),
      )
    } finally {
      over = true
    }
    // `complete` ended the job in a transaction of the caller, which has committed.
    return ended || completed
  }

  /** Milliseconds until the next attempt. Undefined when there is none. */
  #backoff(row: StartedRow, declared: AnyJob | undefined, error: unknown): number | undefined {
    const of = declared?.attempts ?? JOB_DEFAULTS.attempts
    if (error instanceof UnrecoverableError || row.attempts >= of) return undefined
    const { firstMs, maxMs } = declared === undefined ? UNKNOWN_BACKOFF : (declared.backoff ?? JOB_DEFAULTS.backoff)
    const full = Math.min(maxMs, firstMs * 2 ** (row.attempts - 1))
    return Math.round(full / 2 + (Math.random() * full) / 2)
  }
}

function reasonOf(error: unknown): string {
  const text =
    error instanceof Error ? `${error.name === 'Error' ? '' : `${error.name}: `}${error.message}` : String(error)
  return withoutSecrets(text.replaceAll('\0', '')).slice(0, MAX_REASON)
}
