import { randomInt } from 'node:crypto'
import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { oneTimeCodes } from './tables.ts'
import { isSame, keyFor, type Key } from '../../../tools/keys.ts'

const LIFETIME_MS = 10 * MINUTE
const TRIES = 5
const PAUSE_MS = MINUTE

/** Stores a code in place of an older one that was sent before `sentBefore`. */
const storeCode = query(
  { oneTimeCodes },
  (db, $: { userId: string; codeHash: string; sentAt: Date; expiresAt: Date; sentBefore: string }) => {
    const code = { codeHash: $.codeHash, sentAt: $.sentAt, expiresAt: $.expiresAt, tries: 0, knownTries: 0 }
    return db
      .insertInto('oneTimeCodes')
      .values({ userId: $.userId, ...code })
      .onConflict((conflict) =>
        conflict.column('userId').doUpdateSet(code).where('oneTimeCodes.sentAt', '<=', $.sentBefore),
      )
  },
)

/**
 * Six-digit codes that confirm an address. They are stored as a MAC under the installation's key, because a plain digest
 * of a million possibilities is easily guessed. A user has one code: a new one replaces the last.
 */
export class OneTimeCodes {
  readonly #clock: Clock
  readonly #key: Key

  constructor(clock: Clock, secret: string) {
    this.#clock = clock
    this.#key = keyFor(secret, 'one-time codes')
  }

  /** Creates a code. @returns undefined if the last one is less than a minute old */
  async issue(sql: Sql, userId: string): Promise<string | undefined> {
    const code = String(randomInt(1_000_000)).padStart(6, '0')
    const now = this.#clock.now()
    const written = await storeCode.run(sql, {
      userId,
      codeHash: this.#mac(userId, code),
      sentAt: new Date(now),
      expiresAt: new Date(now + LIFETIME_MS),
      sentBefore: new Date(now - PAUSE_MS).toISOString(),
    })
    return written > 0 ? code : undefined
  }

  /**
   * Checks a code. `right` deletes it, `wrong` counts the try (so the transaction must commit), and `none` means that
   * there is no valid code.
   * @param isKnown whether the try comes from the network of the sign-up, which has its own attempts
   */
  async use(sql: Sql, userId: string, code: string, isKnown: boolean): Promise<'right' | 'wrong' | 'none'> {
    const row = await oneTimeCodes.first(sql, { userId }, { lock: 'for update' })
    if (row === undefined || Date.parse(row.expiresAt) <= this.#clock.now()) return 'none'
    if ((isKnown ? row.knownTries : row.tries) >= TRIES) return 'none'
    if (isSame(row.codeHash, this.#mac(userId, code))) {
      await oneTimeCodes.delete(sql, { userId })
      return 'right'
    }
    await oneTimeCodes.update(sql, { userId }, isKnown ? { knownTries: increment() } : { tries: increment() })
    return 'wrong'
  }

  #mac(userId: string, code: string): string {
    return this.#key.mac(`${userId} ${code}`, 'hex')
  }
}
