import { createHmac, hkdfSync, randomInt, timingSafeEqual } from 'node:crypto'
import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'

const LIFETIME_MS = 10 * MINUTE
const TRIES = 5
const PAUSE_MS = MINUTE

interface CodeRow {
  code_hash: string
  tries: number
  known_tries: number
  expires_at: string
}

/**
 * Six-digit codes that confirm an address. Stored as a MAC under the installation's key, because a million
 * possibilities would be guessed from any plain digest. One a user: a new code ends the one before.
 */
export class OneTimeCodes {
  readonly #clock: Clock
  readonly #key: Buffer

  constructor(clock: Clock, secret: string) {
    this.#clock = clock
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'one-time codes', 32))
  }

  /** A new code; undefined when the last one is younger than a minute. */
  async issue(sql: Sql, userId: string): Promise<string | undefined> {
    const code = String(randomInt(1_000_000)).padStart(6, '0')
    const now = this.#clock.now()
    const written = await sql.run(
      `insert into one_time_codes as c (user_id, code_hash, tries, sent_at, expires_at) values ($1, $2, 0, $3, $4)
       on conflict (user_id) do update
         set code_hash = excluded.code_hash, tries = 0, known_tries = 0, sent_at = excluded.sent_at, expires_at = excluded.expires_at
         where c.sent_at <= $5`,
      [userId, this.#mac(userId, code), new Date(now), new Date(now + LIFETIME_MS), new Date(now - PAUSE_MS)],
    )
    return written > 0 ? code : undefined
  }

  /**
   * Judges a code: `right` uses it up, `wrong` counts the try (so the transaction must commit), `none` says that there
   * is no code to compare with.
   * @param isKnown from the network of the sign-up: it has tries of its own, which strangers cannot use up
   */
  async use(sql: Sql, userId: string, code: string, isKnown: boolean): Promise<'right' | 'wrong' | 'none'> {
    const row = await sql.row<CodeRow>(
      'select code_hash, tries, known_tries, expires_at from one_time_codes where user_id = $1 for update',
      [userId],
    )
    const tries = isKnown ? row?.known_tries : row?.tries
    if (row === undefined || tries === undefined || tries >= TRIES || Date.parse(row.expires_at) <= this.#clock.now())
      return 'none'
    if (timingSafeEqual(Buffer.from(row.code_hash), Buffer.from(this.#mac(userId, code)))) {
      await sql.run('delete from one_time_codes where user_id = $1', [userId])
      return 'right'
    }
    const column = isKnown ? 'known_tries' : 'tries'
    await sql.run(`update one_time_codes set ${column} = ${column} + 1 where user_id = $1`, [userId])
    return 'wrong'
  }

  #mac(userId: string, code: string): string {
    return createHmac('sha256', this.#key).update(`${userId} ${code}`).digest('hex')
  }
}
