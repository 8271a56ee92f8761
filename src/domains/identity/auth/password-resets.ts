import { MINUTE, type Clock } from '../../../core/clock.ts'
import { secretToken, sha256 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'

const LIFETIME_MS = 30 * MINUTE
const PAUSE_MS = MINUTE
const TOKEN = /^[\w-]{43}$/

/** Tokens that let the owner of a mailbox choose a new password: 256 random bits, stored as SHA-256, for one use. */
export class PasswordResets {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A new token; undefined when one was made less than a minute ago. Earlier ones stay good until they expire. */
  async issue(sql: Sql, userId: string): Promise<string | undefined> {
    const token = secretToken(32)
    const now = this.#clock.now()
    const written = await sql.run(
      `insert into password_resets (token_hash, user_id, created_at, expires_at)
       select $1, $2, $3, $4
       where not exists (select 1 from password_resets where user_id = $2 and created_at > $5)`,
      [sha256(token), userId, new Date(now), new Date(now + LIFETIME_MS), new Date(now - PAUSE_MS)],
    )
    return written > 0 ? token : undefined
  }

  /** A new token for somebody who has just proven to own the mailbox, however young the last one is. */
  async create(sql: Sql, userId: string): Promise<{ token: string; expiresAt: string }> {
    const token = secretToken(32)
    const now = this.#clock.now()
    const expiresAt = new Date(now + LIFETIME_MS)
    await sql.run('insert into password_resets (token_hash, user_id, created_at, expires_at) values ($1, $2, $3, $4)', [
      sha256(token),
      userId,
      new Date(now),
      expiresAt,
    ])
    return { token, expiresAt: expiresAt.toISOString() }
  }

  /** Whose token it is, while it is good. */
  async find(sql: Sql, token: string): Promise<string | undefined> {
    if (!TOKEN.test(token)) return undefined
    const row = await sql.row<{ user_id: string }>(
      'select user_id from password_resets where token_hash = $1 and expires_at > $2',
      [sha256(token), new Date(this.#clock.now())],
    )
    return row?.user_id
  }

  /** Uses a token up, and with it every other of the user. False when somebody else was faster. */
  async use(sql: Sql, userId: string, token: string): Promise<boolean> {
    const used = await sql.run('delete from password_resets where token_hash = $1 and user_id = $2', [
      sha256(token),
      userId,
    ])
    if (used === 0) return false
    await sql.run('delete from password_resets where user_id = $1', [userId])
    return true
  }
}
