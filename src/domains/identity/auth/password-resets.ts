import { MINUTE, type Clock } from '../../../core/clock.ts'
import { secretToken, sha256 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import { passwordResets } from './tables.ts'

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
    const recent = greaterThan(new Date(this.#clock.now() - PAUSE_MS))
    if (await passwordResets.exists(sql, { userId, createdAt: recent })) return undefined
    const { token } = await this.create(sql, userId)
    return token
  }

  /** A new token for somebody who has just proven to own the mailbox, however young the last one is. */
  async create(sql: Sql, userId: string): Promise<{ token: string; expiresAt: string }> {
    const token = secretToken(32)
    const now = this.#clock.now()
    const expiresAt = new Date(now + LIFETIME_MS)
    await passwordResets.insert(sql, { tokenHash: sha256(token), userId, createdAt: new Date(now), expiresAt })
    return { token, expiresAt: expiresAt.toISOString() }
  }

  /** Whose token it is, while it is good. */
  async find(sql: Sql, token: string): Promise<string | undefined> {
    if (!TOKEN.test(token)) return undefined
    const valid = { tokenHash: sha256(token), expiresAt: greaterThan(new Date(this.#clock.now())) }
    const row = await passwordResets.first(sql, valid, { columns: ['userId'] })
    return row?.userId
  }

  /** Uses a token up, and with it every other of the user. False when somebody else was faster. */
  async use(sql: Sql, userId: string, token: string): Promise<boolean> {
    const used = await passwordResets.delete(sql, { tokenHash: sha256(token), userId })
    if (used === 0) return false
    await passwordResets.delete(sql, { userId })
    return true
  }
}
