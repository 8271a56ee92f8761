import { MINUTE, type Clock } from '../../../core/clock.ts'
import { secretToken, sha256 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import { passwordResets } from './tables.ts'

const LIFETIME_MS = 30 * MINUTE
const PAUSE_MS = MINUTE
const TOKEN = /^[\w-]{43}$/

/** Mailed tokens to choose a new password: 256 random bits, stored as SHA-256, valid once. */
export class PasswordResets {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Creates a token. Earlier ones stay valid. @returns undefined if the last one is less than a minute old */
  async issue(sql: Sql, userId: string): Promise<string | undefined> {
    const recent = greaterThan(new Date(this.#clock.now() - PAUSE_MS))
    if (await passwordResets.exists(sql, { userId, createdAt: recent })) return undefined
    const { token } = await this.create(sql, userId)
    return token
  }

  /** Creates a token for a caller who has just proven to own the mailbox, without a minimum interval. */
  async create(sql: Sql, userId: string): Promise<{ token: string; expiresAt: string }> {
    const token = secretToken(32)
    const now = this.#clock.now()
    const expiresAt = new Date(now + LIFETIME_MS)
    await passwordResets.insert(sql, { tokenHash: sha256(token), userId, createdAt: new Date(now), expiresAt })
    return { token, expiresAt: expiresAt.toISOString() }
  }

  /** The user of a valid token. */
  async find(sql: Sql, token: string): Promise<string | undefined> {
    if (!TOKEN.test(token)) return undefined
    const valid = { tokenHash: sha256(token), expiresAt: greaterThan(new Date(this.#clock.now())) }
    const row = await passwordResets.first(sql, valid, { columns: ['userId'] })
    return row?.userId
  }

  /** Deletes a token and all others of the user. @returns false if the token was used already */
  async use(sql: Sql, userId: string, token: string): Promise<boolean> {
    const used = await passwordResets.delete(sql, { tokenHash: sha256(token), userId })
    if (used === 0) return false
    await passwordResets.delete(sql, { userId })
    return true
  }
}
