import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import { uuidv7 } from '../core/id.ts'
import { AttemptLostError, HopelessError, JOB_DEFAULTS, type AnyJob, type Attempt } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { Database } from '../db/database.ts'
import type { Verdict } from './backend.ts'
import type { StartedRow } from './ledger.ts'
import type { EndedJob, Outbox } from './outbox.ts'
import { jobContextFactory } from './job-context.ts'
import { withoutSecrets } from './redact.ts'
import type { JobRows } from './rows.ts'
import { Stop, STUBBORN_MS } from './stop.ts'

export interface JobRun {
  readonly row: StartedRow
  readonly outcome: 'done' | 'again' | 'dead' | 'lost' | 'handed back'
  readonly reason: string | undefined
  /** Milliseconds from the time it was due to its start. */
  readonly waitedMs: number
  readonly ranMs: number
}

export interface RunnerOptions {
  readonly database: Database
  readonly outbox: Outbox
  readonly rows: JobRows
  readonly declared: ReadonlyMap<string, AnyJob>
  readonly clock: Clock
  readonly log: Logger
  readonly services: () => Services
  /** Hears that a job of a fair queue has started or an attempt at it has ended: there may be work for the dispatcher. */
  readonly onLine: () => void
  /** Hears of every attempt that has ended. */
  readonly onRun: (run: JobRun) => void
  /** Hears of jobs that turn out to have ended before: whoever ended them may have died before it could say so. */
  readonly onEnded: (job: EndedJob) => void
  readonly onProgress: (row: StartedRow, percent: number, detail: string | undefined) => void
}

class ShutdownError extends Error {
  override readonly name = 'ShutdownError'
}

/** How often, and after which pause, the database is asked to note the beginning or the end of an attempt. */
const TRIES = 10
const PAUSE_MS = 1_000
const MOST_REASON = 2_000
/** A name that this version does not know may be that of a newer one whose nodes are coming up: a quarter of an hour. */
const UNKNOWN_BACKOFF = { firstMs: 60_000, maxMs: 10 * 60_000 }

const DONE: Verdict = { kind: 'done' }

/** What became of an attempt. */
interface Settled {
  readonly outcome: JobRun['outcome']
  readonly verdict: Verdict
  readonly reason?: string
}

/** Runs attempts at jobs, and writes down what becomes of them. */
export class Runner {
  readonly #options: RunnerOptions
  readonly #underWay = new Map<Promise<void>, Stop>()
  #context: ReturnType<typeof jobContextFactory> | undefined
  /** Over when the database is to be asked again. */
  #away: Promise<void> | undefined
  #closing = false

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#underWay.size
  }

  /**
   * One attempt at a job that the backend handed out. Never throws. A job that went well is given back before its end is
   * written down: should that fail, the row tells that the job has not ended, and it is run again.
   */
  run(id: string): Promise<Verdict> {
    return new Promise((resolve) => {
      const stop = new Stop()
      const running = this.#run(id, stop, resolve).finally(() => this.#underWay.delete(running))
      this.#underWay.set(running, stop)
    })
  }

  /** Waits for what is under way; what takes longer is told to stop, and handed back. */
  async drain(withinMs: number): Promise<void> {
    this.#closing = true
    await Promise.race([Promise.all(this.#underWay.keys()), delay(withinMs)])
    for (const stop of this.#underWay.values()) stop.tell(new ShutdownError('the node shuts down'))
    await Promise.race([Promise.all(this.#underWay.keys()), delay(STUBBORN_MS + 500)])
  }

  async #run(id: string, stop: Stop, give: (verdict: Verdict) => void): Promise<void> {
    const { clock } = this.#options
    const row = await this.#begin(id, give)
    if (row === undefined) return
    if (row.line !== null) this.#options.onLine()
    const began = clock.monotonic()
    const waitedMs = Math.max(0, clock.now() - Date.parse(row.runAt))
    const { outcome, verdict, reason } = await this.#settle(row, stop, give)
    give(verdict)
    if (row.line !== null) this.#options.onLine()
    this.#options.onRun({ row, outcome, reason, waitedMs, ranMs: clock.monotonic() - began })
  }

  /** Begins an attempt as soon as the database answers. Undefined when there is nothing to run, which was told then. */
  async #begin(id: string, give: (verdict: Verdict) => void): Promise<StartedRow | undefined> {
    const { clock, outbox } = this.#options
    for (let tries = 1; !this.#closing; tries += 1) {
      try {
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

  /** While the database does not answer all attempts wait together, and one line a pause says so. */
  #waitAfter(failure: unknown): Promise<void> {
    this.#away ??= this.#pause(failure)
    return this.#away
  }

  async #pause(failure: unknown): Promise<void> {
    const message = (failure as Error).message
    this.#options.log.warn({ error: message }, 'attempts cannot be written down; trying again')
    await delay(PAUSE_MS)
    this.#away = undefined
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

  /** Writes down that a job has ended. What has not by the last try is run again. @returns whether this attempt ended it */
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
        log.warn({ job: row.name, id: row.id, reason }, 'a job failed after its effect was committed: it is done')
        return { outcome: 'done', verdict: DONE }
      }
      if (inMs === undefined) return { outcome: 'dead', verdict: { kind: 'dead', reason }, reason }
      if (row.line === null) return { outcome: 'again', verdict: { kind: 'again', inMs, reason }, reason }
      // The next try waits in its line, so that retries of one workspace do not come before the jobs of others.
      return { outcome: 'again', verdict: DONE, reason }
    } catch (failed) {
      // The next attempt finds the row as it is.
      log.warn({ error: failed, job: row.name, id: row.id }, 'what became of a job could not be written down')
      return { outcome: 'again', verdict: { kind: 'again', inMs: 1_000, reason }, reason }
    }
  }

  /** Runs the job's own code. @returns whether it has ended the job itself */
  async #attempt(row: StartedRow, declared: AnyJob | undefined, stop: Stop): Promise<boolean> {
    const { database, log, outbox, rows } = this.#options
    if (declared === undefined) throw new Error(`no job is called ${row.name} in this version`)
    const of = declared.attempts ?? JOB_DEFAULTS.attempts
    // Started that often without an end: whoever runs it dies of it.
    if (row.attempts > of) throw new HopelessError(`given up: its worker was lost ${of} times`)
    const data = rows.read(declared, row.data)
    const key = { id: row.id, attemptId: row.attemptId }
    const attempt: Attempt = { id: row.attemptId, jobId: row.id, number: row.attempts, of }
    let ended = false
    let entrusted = false
    let over = false
    this.#context ??= jobContextFactory(this.#options.services())
    const context = this.#context({
      data,
      workspaceId: row.workspaceId ?? undefined,
      attempt,
      stop,
      log: () => log.child({ job: row.name, id: row.id }),
      progress: (percent, detail) => {
        if (!over) this.#options.onProgress(row, percent, detail)
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
        entrusted = true
      },
    })
    try {
      await stop.within(declared.timeoutMs ?? JOB_DEFAULTS.timeoutMs, async () => declared.run(context))
    } finally {
      over = true
    }
    // Ended in a transaction of somebody else, who has said that all went well.
    return ended || entrusted
  }

  /** Milliseconds until the next try; undefined when there is none. */
  #backoff(row: StartedRow, declared: AnyJob | undefined, error: unknown): number | undefined {
    const of = declared?.attempts ?? JOB_DEFAULTS.attempts
    if (error instanceof HopelessError || row.attempts >= of) return undefined
    const { firstMs, maxMs } = declared === undefined ? UNKNOWN_BACKOFF : (declared.backoff ?? JOB_DEFAULTS.backoff)
    const full = Math.min(maxMs, firstMs * 2 ** (row.attempts - 1))
    return Math.round(full / 2 + (Math.random() * full) / 2)
  }
}

function reasonOf(error: unknown): string {
  const text =
    error instanceof Error ? `${error.name === 'Error' ? '' : `${error.name}: `}${error.message}` : String(error)
  return withoutSecrets(text.replaceAll('\0', '')).slice(0, MOST_REASON)
}
