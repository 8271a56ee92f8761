import { DAY, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { lessThan } from '../../../db/condition.ts'
import { deleteInBatches } from '../../../db/delete-in-batches.ts'
import { downloadLinks, oneTimeCodes, passwordResets, sessions, usedNonces } from './tables.ts'
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
    await deleteInBatches(oneTimeCodes, this.#sql, expired)
    await deleteInBatches(passwordResets, this.#sql, expired)
    await deleteInBatches(usedNonces, this.#sql, expired)
    await deleteInBatches(downloadLinks, this.#sql, expired)
    await deleteInBatches(sessions, this.#sql, { expiresAt: lessThan(ended) })
    await deleteInBatches(sessions, this.#sql, { revokedAt: lessThan(ended) })
  }
}
