import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import { publicationBeats } from '../../posts/index.ts'
import type { SchedulerAlerts } from './scheduler-alerts.ts'

/** The watchdog runs every 20 seconds. */
const ALIVE_MS = 2 * MINUTE
const LOOK_MS = 30 * SECOND
const NAME = 'watchdog'

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly log: Logger
  readonly alerts: SchedulerAlerts
}

/**
 * Whether the scheduler of publications is alive on any node. It runs as a job, so it stands still when jobs do. Every
 * node looks at its last run by a timer, and reports when that is too long ago.
 */
export class SchedulerHeartbeat {
  readonly #needs: Needs
  readonly #startedAt: number
  #timer: NodeJS.Timeout | undefined
  #beatAt: number | undefined
  #isAlive = true

  constructor(needs: Needs) {
    this.#needs = needs
    this.#startedAt = needs.clock.now()
  }

  /** Records a run of the scheduler. */
  async beat(): Promise<void> {
    const { clock, sql } = this.#needs
    const beatAt = new Date(clock.now()).toISOString()
    await publicationBeats.upsert(sql, { name: NAME, beatAt }, ['name'])
  }

  /** Milliseconds since the last run, as this node has last seen it. */
  ageMs(): number {
    return Math.max(0, this.#needs.clock.now() - (this.#beatAt ?? this.#startedAt))
  }

  /** Looks at the last run. Logs an error when the scheduler stands still, and when it is back. */
  async look(): Promise<{ readonly alive: boolean; readonly ageSeconds: number }> {
    const { log, sql } = this.#needs
    const row = await publicationBeats.first(sql, { name: NAME })
    if (row !== undefined) this.#beatAt = Date.parse(row.beatAt)
    const alive = this.ageMs() < ALIVE_MS
    const ageSeconds = Math.round(this.ageMs() / SECOND)
    if (alive !== this.#isAlive) {
      if (alive) log.info({ ageSeconds }, 'the scheduler of posts runs again')
      else log.error({ ageSeconds }, 'the scheduler of posts stands still: posts are not published')
    }
    this.#isAlive = alive
    return { alive, ageSeconds }
  }

  /** Looks at the last run, and tells administrators when the scheduler stands still, and when it is back. */
  async watch(): Promise<void> {
    const { alerts, clock, sql } = this.#needs
    const { alive } = await this.look()
    // After a start, the scheduler has time for its first run.
    if (!alive && clock.now() - this.#startedAt < ALIVE_MS) return
    const row = await publicationBeats.first(sql, { name: NAME })
    if (row === undefined) {
      // It never ran. The next look finds that it is late.
      const beatAt = new Date(this.#startedAt).toISOString()
      await publicationBeats.insert(sql, { name: NAME, beatAt }, { ignoreConflict: true })
    } else if (!alive && row.stoppedAt === null) {
      await alerts.stopped(row)
    } else if (alive && row.stoppedAt !== null) {
      await alerts.recovered(row, row.stoppedAt)
    }
  }

  start(): void {
    const { log } = this.#needs
    this.#timer = setInterval(() => {
      this.watch().catch((error: unknown) => log.warn({ error }, 'the scheduler of posts could not be checked'))
    }, LOOK_MS)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
