import { DAY, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { lessThan } from '../../../db/condition.ts'
import { oneTimeCodes, passwordResets, sessions, usedNonces } from './tables.ts'
import type { AttemptThrottle } from './throttle.ts'

/** Ended sessions are kept this long for investigations. */
const ENDED_SESSIONS_KEPT_MS = 30 * DAY

/** Deletes expired codes, tokens, sessions and counts of failed attempts. */
export class AuthHousekeeping {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #throttle: AttemptThrottle

  constructor(sql: Sql, clock: Clock, throttle: AttemptThrottle) {
    this.#sql = sql
    this.#clock = clock
    this.#throttle = throttle
  }

  async sweep(): Promise<void> {
    const now = this.#clock.now()
    const ended = new Date(now - ENDED_SESSIONS_KEPT_MS)
    await this.#throttle.sweep()
    const expired = { expiresAt: lessThan(new Date(now)) }
    await oneTimeCodes.delete(this.#sql, expired)
    await passwordResets.delete(this.#sql, expired)
    await usedNonces.delete(this.#sql, expired)
    await sessions.delete(this.#sql, { expiresAt: lessThan(ended) })
    await sessions.delete(this.#sql, { revokedAt: lessThan(ended) })
  }
}
