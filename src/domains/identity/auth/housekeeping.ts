import { DAY, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { AttemptThrottle } from './throttle.ts'

/** Ended sessions stay readable for those who look into what happened. */
const ENDED_SESSIONS_KEPT_MS = 30 * DAY

declare module '../../../core/services.ts' {
  interface Services {
    readonly authHousekeeping: AuthHousekeeping
  }
}

/** Deletes what has expired. */
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
    await this.#sql.run('delete from one_time_codes where expires_at < $1', [new Date(now)])
    await this.#sql.run('delete from password_resets where expires_at < $1', [new Date(now)])
    await this.#sql.run('delete from used_nonces where expires_at < $1', [new Date(now)])
    await this.#sql.run('delete from sessions where expires_at < $1 or revoked_at < $1', [ended])
  }
}
