import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import { uuidv7 } from '../core/id.ts'
import {
  AttemptLostError,
  HopelessError,
  JOB_DEFAULTS,
  type AnyJob,
  type Attempt,
  type JobContext,
} from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { Database } from '../db/database.ts'
import type { Verdict } from './backend.ts'
import type { Outbox, StartedRow } from './outbox.ts'
import type { JobRows } from './rows.ts'

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
  /** Hears of every attempt that has ended. */
  readonly onRun: (run: JobRun) => void
  readonly onProgress: (row: StartedRow, declared: AnyJob, percent: number, detail: string | undefined) => void
}

class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

class ShutdownError extends Error {
  override readonly name = 'ShutdownError'
}

/** How long a run that ignores its signal is waited for. */
const STUBBORN_MS = 2_000
const MOST_REASON = 2_000

/** Runs attempts at jobs, and writes down what becomes of them. */
export class Runner {
  readonly #options: RunnerOptions
  readonly #underWay = new Map<Promise<Verdict>, AbortController>()
  #closing = false

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#underWay.size
  }

  /** One attempt at a job that the backend handed out. Never throws. */
  run(id: string): Promise<Verdict> {
    const controller = new AbortController()
    const running = this.#run(id, controller).finally(() => this.#underWay.delete(running))
    this.#underWay.set(running, controller)
    return running
  }

  /** Waits for what is under way; what takes longer is told to stop, and handed back. */
  async drain(withinMs: number): Promise<void> {
    this.#closing = true
    await Promise.race([Promise.all(this.#underWay.keys()), delay(withinMs)])
    for (const controller of this.#underWay.values()) controller.abort(new ShutdownError('the node shuts down'))
    await Promise.race([Promise.all(this.#underWay.keys()), delay(STUBBORN_MS + 500)])
  }

  async #run(id: string, controller: AbortController): Promise<Verdict> {
    const { clock, outbox, log } = this.#options
    if (this.#closing) return { kind: 'handed back' }
    let row: StartedRow | undefined
    try {
      row = await outbox.start(id, uuidv7(clock.now()))
    } catch (error) {
      log.warn({ error, id }, 'an attempt could not be begun')
      return { kind: 'again', inMs: 1_000, reason: (error as Error).message }
    }
    // Done, dead or removed before: nothing is left to do.
    if (row === undefined) return { kind: 'done' }
    const began = clock.monotonic()
    const waitedMs = Math.max(0, clock.now() - Date.parse(row.run_at))
    const { outcome, verdict, reason } = await this.#settle(row, controller)
    this.#options.onRun({ row, outcome, reason, waitedMs, ranMs: clock.monotonic() - began })
    return verdict
  }

  async #settle(
    row: StartedRow,
    controller: AbortController,
  ): Promise<{ outcome: JobRun['outcome']; verdict: Verdict; reason?: string | undefined }> {
    const { outbox, log } = this.#options
    const declared = this.#options.declared.get(row.name)
    const key = { id: row.id, attemptId: row.attempt_id }
    try {
      const ended = await this.#attempt(row, declared, controller)
      const done = ended || (await outbox.finish(row.id, row.attempt_id))
      return { outcome: done ? 'done' : 'lost', verdict: { kind: 'done' } }
    } catch (error) {
      if (error instanceof AttemptLostError)
        return { outcome: 'lost', verdict: { kind: 'done' }, reason: error.message }
      const reason = reasonOf(error)
      try {
        if (controller.signal.reason instanceof ShutdownError) {
          const back = await outbox.handBack(key)
          return back
            ? { outcome: 'handed back', verdict: { kind: 'handed back' }, reason }
            : { outcome: 'lost', verdict: { kind: 'done' }, reason }
        }
        const inMs = this.#pause(row, declared, error)
        const again = inMs === undefined ? undefined : new Date(this.#options.clock.now() + inMs)
        // Not the newest attempt, or its effect was committed although the answer was lost: not ours to judge.
        if (!(await outbox.fail(key, reason, again))) return { outcome: 'lost', verdict: { kind: 'done' }, reason }
        return inMs === undefined
          ? { outcome: 'dead', verdict: { kind: 'dead', reason }, reason }
          : { outcome: 'again', verdict: { kind: 'again', inMs, reason }, reason }
      } catch (failed) {
        // The next attempt finds the row as it is.
        log.warn({ error: failed, job: row.name, id: row.id }, 'what became of a job could not be written down')
        return { outcome: 'again', verdict: { kind: 'again', inMs: 1_000, reason }, reason }
      }
    }
  }

  /** Runs the job's own code. @returns whether it has ended the job itself */
  async #attempt(row: StartedRow, declared: AnyJob | undefined, controller: AbortController): Promise<boolean> {
    const { database, log, outbox, rows } = this.#options
    if (declared === undefined) throw new Error(`no job is called ${row.name} in this version`)
    const of = declared.attempts ?? JOB_DEFAULTS.attempts
    // Started that often without an end: whoever runs it dies of it.
    if (row.attempts > of) throw new HopelessError(`given up: its worker was lost ${of} times`)
    const data = rows.read(declared, row.data)
    const key = { id: row.id, attemptId: row.attempt_id }
    const attempt: Attempt = { id: row.attempt_id, jobId: row.id, number: row.attempts, of }
    let ended = false
    let entrusted = false
    const context: JobContext<unknown> = {
      data,
      workspaceId: row.workspace_id ?? undefined,
      attempt,
      signal: controller.signal,
      get log() {
        return log.child({ job: row.name, id: row.id })
      },
      progress: (percent, detail) => this.#options.onProgress(row, declared, percent, detail),
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
    }
    const services = this.#options.services()
    await withinTime(declared, controller, () =>
      declared.run(Object.setPrototypeOf(context, services) as typeof context),
    )
    // Ended in a transaction of somebody else, who has said that all went well.
    return ended || entrusted
  }

  /** Milliseconds until the next try; undefined when there is none. */
  #pause(row: StartedRow, declared: AnyJob | undefined, error: unknown): number | undefined {
    const of = declared?.attempts ?? JOB_DEFAULTS.attempts
    if (error instanceof HopelessError || row.attempts >= of) return undefined
    const { firstMs, maxMs } = declared?.backoff ?? JOB_DEFAULTS.backoff
    const full = Math.min(maxMs, firstMs * 2 ** (row.attempts - 1))
    return Math.round(full / 2 + (Math.random() * full) / 2)
  }
}

/** Aborts when the time is over, and no longer waits for what does not listen. */
async function withinTime(declared: AnyJob, controller: AbortController, run: () => Promise<void>): Promise<void> {
  const { signal } = controller
  const timeoutMs = declared.timeoutMs ?? JOB_DEFAULTS.timeoutMs
  const timer = setTimeout(() => controller.abort(new TimeoutError(`took longer than ${timeoutMs} ms`)), timeoutMs)
  let stubborn: NodeJS.Timeout | undefined
  const abandoned = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => {
      stubborn = setTimeout(() => reject(signal.reason as Error), STUBBORN_MS)
    })
  })
  try {
    await Promise.race([run(), abandoned])
  } catch (error) {
    // What a run throws when it is told to stop says less than why it was.
    throw signal.aborted ? signal.reason : error
  } finally {
    clearTimeout(timer)
    clearTimeout(stubborn)
  }
}

function reasonOf(error: unknown): string {
  const text =
    error instanceof Error ? `${error.name === 'Error' ? '' : `${error.name}: `}${error.message}` : String(error)
  return text.replaceAll('\0', '').slice(0, MOST_REASON)
}
