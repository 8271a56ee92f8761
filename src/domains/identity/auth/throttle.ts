import { sql as raw } from 'kysely'
import { HOUR, MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf, lessThan } from '../../../db/condition.ts'
import { deleteInBatches } from '../../../db/delete-in-batches.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { TooManyAttempts } from './errors.ts'
import { loginThrottles } from './tables.ts'
import { keyFor, type Key } from '../../../tools/keys.ts'

/** Failures without a lock. */
const FREE = 4
const MAX_LOCK_SECONDS = 15 * 60
/** Failures are forgotten this long after the last one. */
const FORGET_MS = HOUR

/**
 * Counts an attempt unless the address is locked. Counting, resetting and locking are one statement. Otherwise concurrent
 * attempts would exceed the limit.
 */
const countAttempt = query({ loginThrottles }, (db, $: { key: string; now: string; forgottenBefore: string }) =>
  db
    .insertInto('loginThrottles')
    .values({ key: $.key, failures: 1, lastFailedAt: $.now, lockedUntil: null })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet((e) => {
          const isForgotten = e('loginThrottles.lastFailedAt', '<', $.forgottenBefore)
          const isFree = e('loginThrottles.failures', '<', FREE)
          const doublings = raw`least(${e('loginThrottles.failures', '-', FREE)}, 20)`
          const seconds = raw`least(power(2, ${doublings}), ${raw.lit(MAX_LOCK_SECONDS)})`
          return {
            failures: e
              .case()
              .when(isForgotten)
              .then(1)
              .else(e('loginThrottles.failures', '+', 1))
              .end(),
            lastFailedAt: $.now,
            lockedUntil: e
              .case()
              .when(e.or([isForgotten, isFree]))
              .then(null)
              .else(raw<string>`${$.now}::timestamptz + ${seconds} * interval '1 second'`)
              .end(),
          }
        })
        .where((e) =>
          e.or([e('loginThrottles.lockedUntil', 'is', null), e('loginThrottles.lockedUntil', '<=', $.now)]),
        ),
    ),
)

/** What an attempt tries to guess. */
export type Guarded = 'password' | 'code' | 'second factor'

const ATTEMPTS: Readonly<Record<Guarded, string>> = {
  password: 'wrong passwords for this email address',
  code: 'wrong codes for this email address',
  'second factor': 'wrong codes of the second factor for this account',
}

/**
 * Where an attempt comes from. A known device or network of the account has its own count. All others
 * share one.
 */
export type AttemptSource = 'anybody' | 'known device' | `network ${string}`

/**
 * Counts failed attempts at an address and locks it for a time that doubles: 1 s after the fifth, 2 s after the sixth,
 * up to 15 min. A lock applies to one source, so an attacker cannot lock the owner out. It applies with and
 * without an account, so it reveals nothing. An attempt is counted before it is checked, so concurrent attempts are all
 * counted.
 */
export class AttemptThrottle {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #key: Key

  constructor(sql: Sql, clock: Clock, secret: string) {
    this.#sql = sql
    this.#clock = clock
    this.#key = keyFor(secret, 'attempt throttle')
  }

  /** Counts one attempt. @throws AppError too_many_attempts while the address is locked for this source */
  async begin(guarded: Guarded, email: string, source: AttemptSource): Promise<void> {
    const key = this.#name(guarded, email, source)
    const now = this.#clock.now()
    const counted = await countAttempt.run(this.#sql, {
      key,
      now: new Date(now).toISOString(),
      forgottenBefore: new Date(now - FORGET_MS).toISOString(),
    })
    if (counted > 0) return
    const row = await loginThrottles.first(this.#sql, { key }, { columns: ['lockedUntil'] })
    const seconds = Math.max(1, Math.ceil((Date.parse(row?.lockedUntil ?? '') - now) / SECOND) || 1)
    throw TooManyAttempts({
      retryAfter: seconds,
      message: `Too many ${ATTEMPTS[guarded]}. Wait ${seconds} s.`,
    })
  }

  /** Forgets the failures of these sources, after a success or when the owner has proven who they are. */
  async clear(guarded: Guarded, email: string, sources: readonly AttemptSource[], sql: Sql = this.#sql): Promise<void> {
    const keys = sources.map((source) => this.#name(guarded, email, source))
    await loginThrottles.delete(sql, { key: anyOf(keys) })
  }

  /** Writes without changing anything, for a reply that must take as long as a reply after a write. */
  async touch(guarded: Guarded, email: string, source: AttemptSource, sql: Sql): Promise<void> {
    await loginThrottles.update(sql, { key: this.#name(guarded, email, source) }, { failures: increment(0) })
  }

  /** Deletes counts that no longer apply. */
  async sweep(): Promise<void> {
    const before = new Date(this.#clock.now() - FORGET_MS - MINUTE)
    await deleteInBatches(loginThrottles, this.#sql, { lastFailedAt: lessThan(before) })
  }

  #name(guarded: Guarded, email: string, source: AttemptSource): string {
    return this.#key.mac(`${guarded} ${email} ${source}`)
  }
}
