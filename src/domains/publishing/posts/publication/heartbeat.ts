import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import { publicationBeats } from '../tables.ts'

/** The watchdog runs every 20 seconds. */
const ALIVE_MS = 2 * MINUTE
const LOOK_MS = 30 * SECOND
const NAME = 'watchdog'

/**
 * Whether the scheduler of publications is alive on any node. It runs as a job, so it stands still when jobs do. Every
 * node looks at its last run, and reports when that is too long ago.
 */
export class SchedulerHeartbeat {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #log: Logger
  readonly #startedAt: number
  #timer: NodeJS.Timeout | undefined
  #beatAt: number | undefined
  #isAlive = true

  constructor(sql: Sql, clock: Clock, log: Logger) {
    this.#sql = sql
    this.#clock = clock
    this.#log = log
    this.#startedAt = clock.now()
  }

  /** Records a run of the scheduler. */
  async beat(): Promise<void> {
    const beatAt = new Date(this.#clock.now()).toISOString()
    await publicationBeats.upsert(this.#sql, { name: NAME, beatAt }, ['name'])
  }

  /** Milliseconds since the last run, as this node has last seen it. */
  ageMs(): number {
    return Math.max(0, this.#clock.now() - (this.#beatAt ?? this.#startedAt))
  }

  /** Looks at the last run. Logs an error when the scheduler stands still, and when it is back. */
  async look(): Promise<{ readonly alive: boolean; readonly ageSeconds: number }> {
    const row = await publicationBeats.first(this.#sql, { name: NAME })
    if (row !== undefined) this.#beatAt = Date.parse(row.beatAt)
    const alive = this.ageMs() < ALIVE_MS
    const ageSeconds = Math.round(this.ageMs() / SECOND)
    if (alive !== this.#isAlive) {
      if (alive) this.#log.info({ ageSeconds }, 'the scheduler of posts runs again')
      else this.#log.error({ ageSeconds }, 'the scheduler of posts stands still: posts are not published')
    }
    this.#isAlive = alive
    return { alive, ageSeconds }
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.look().catch((error: unknown) => this.#log.warn({ error }, 'the scheduler of posts could not be checked'))
    }, LOOK_MS)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
