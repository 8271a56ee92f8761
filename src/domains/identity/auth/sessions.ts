import { networkOf } from '../../../tools/network-address.ts'
import { DAY, SECOND, type Clock } from '../../../core/clock.ts'
import { secretToken, uuidv7 } from '../../../tools/id.ts'
import type { PageRequest } from '../../../core/page.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import { greaterThan, not } from '../../../db/condition.ts'
import type { Database } from '../../../db/database.ts'
import { ACCESS_TOKEN_SECONDS, type AccessTokens } from './access-tokens.ts'
import { InvalidRefreshToken, RefreshTokenReused } from './errors.ts'
import type { SecondFactorMethod } from './second-factor/codes.ts'
import { NOBODY, sessions, type RevocationReason, type SessionRow } from './tables.ts'
import { keyFor, type Key } from '../../../tools/keys.ts'

/** How long a refresh token works if it is not used. */
export const REFRESH_LIFETIME_MS = 30 * DAY
/** Two tabs that refresh with the same token at the same time both succeed. */
const GRACE_MS = 10 * SECOND
const PREFIX = 'crr_'
/** Number of a user's newest sessions whose networks count as known. */
const REMEMBERED = 100

/** Where a request came from. */
export interface Origin {
  readonly remoteAddress: string
  readonly userAgent: string
}

/** The tokens of a session. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  /** Lifetime of the access token in seconds. */
  readonly expiresIn: number
}

type Refreshed =
  | { readonly kind: 'pair'; readonly pair: TokenPair }
  | { readonly kind: 'refused' }
  | { readonly kind: 'reused'; readonly row: SessionRow; readonly revoked: boolean }

/**
 * Sessions and their refresh tokens. The tokens of a session form one family. Each names its session and generation, with
 * a MAC under the session's secret and a key of the installation. This has three effects: an old token is recognized as
 * genuine without storing tokens, a token cannot be made from the database or the key alone, and the token of a
 * generation is always the same, so a second tab that refreshes within the grace period gets the same pair.
 */
export class Sessions {
  readonly #database: Database
  readonly #clock: Clock
  readonly #tokens: AccessTokens
  readonly #key: Key

  constructor(database: Database, clock: Clock, tokens: AccessTokens, secret: string) {
    this.#database = database
    this.#clock = clock
    this.#tokens = tokens
    this.#key = keyFor(secret, 'refresh tokens')
  }

  /**
   * Starts a session, in the transaction that has authenticated the user.
   * @param secondFactor the second factor that was proved too
   */
  async start(
    sql: Sql,
    userId: string,
    method: string,
    origin: Origin,
    secondFactor: SecondFactorMethod | null = null,
  ): Promise<TokenPair> {
    const now = this.#clock.now()
    const { remoteAddress, userAgent } = origin
    const client = { method, secondFactor, remoteAddress, userAgent }
    const row = { id: uuidv7(now), userId, secret: secretToken(32), generation: 1, ...client }
    const at = new Date(now)
    const times = { createdAt: at, rotatedAt: at, lastUsedAt: at, expiresAt: new Date(now + REFRESH_LIFETIME_MS) }
    await sessions.insert(sql, { ...row, ...times })
    return this.#pair(row)
  }

  /**
   * Exchanges a refresh token for the next pair.
   * @param onReuse called when a session was ended because one of its tokens was used twice
   * @throws AppError invalid_refresh_token, refresh_token_reused
   */
  async refresh(
    token: string,
    origin: Origin,
    onReuse: (tx: Transaction, row: SessionRow) => Promise<void>,
  ): Promise<TokenPair> {
    const parsed = parse(token)
    if (parsed === undefined) throw InvalidRefreshToken()
    const result = await this.#database.transaction(async (tx): Promise<Refreshed> => {
      // The lock makes concurrent refreshes with one token run one after the other.
      const row = await sessions.first(tx, { id: parsed.sessionId }, { lock: 'for update' })
      if (row === undefined || !this.#isMac(row, parsed)) return { kind: 'refused' }
      const result = await this.#rotate(tx, row, parsed.generation, origin)
      if (result.kind === 'reused' && result.revoked) await onReuse(tx, result.row)
      return result
    })
    if (result.kind === 'pair') return result.pair
    if (result.kind === 'refused') throw InvalidRefreshToken()
    throw RefreshTokenReused()
  }

  /** The session of a genuine refresh token of any generation. */
  async sessionOf(sql: Sql, token: string): Promise<SessionRow | undefined> {
    const parsed = parse(token)
    if (parsed === undefined) return undefined
    const row = await sessions.first(sql, { id: parsed.sessionId })
    return row !== undefined && this.#isMac(row, parsed) ? row : undefined
  }

  /**
   * The networks from which a user has recently signed in.
   * @param userId undefined for an address without an account, which takes the same time and finds nothing
   */
  async networksOf(sql: Sql, userId: string | undefined): Promise<Set<string>> {
    const rows = await sessions.find(
      sql,
      { userId: userId ?? NOBODY },
      { columns: ['remoteAddress'], orderBy: ['id desc'], limit: REMEMBERED },
    )
    return new Set(rows.map((row) => networkOf(row.remoteAddress)))
  }

  /** A page of a user's sessions that are neither revoked nor expired, newest first. */
  listActive(sql: Sql, userId: string, page: PageRequest): Promise<SessionRow[]> {
    const expiresAt = greaterThan(new Date(this.#clock.now()))
    return sessions.page(sql, { userId, revokedAt: null, expiresAt }, page)
  }

  /** Ends one session of a user. @returns false if the user has no such active session */
  async revoke(sql: Sql, userId: string, sessionId: string, because: RevocationReason): Promise<boolean> {
    const now = new Date(this.#clock.now())
    const ended = await sessions.update(
      sql,
      { id: sessionId, userId, revokedAt: null, expiresAt: greaterThan(now) },
      { revokedAt: now, revokedBecause: because },
    )
    return ended > 0
  }

  /** Ends every session of a user. @returns how many */
  async revokeAll(sql: Sql, userId: string, because: RevocationReason): Promise<number> {
    const now = new Date(this.#clock.now())
    return sessions.update(sql, { userId, revokedAt: null }, { revokedAt: now, revokedBecause: because })
  }

  /** Ends every session of a user but one. */
  async revokeOthers(sql: Sql, userId: string, kept: string | undefined, because: RevocationReason): Promise<void> {
    const revocation = { revokedAt: new Date(this.#clock.now()), revokedBecause: because }
    await sessions.update(sql, { userId, id: not(kept ?? NOBODY), revokedAt: null }, revocation)
  }

  /** Ends every session of a user that started with this method, but one. */
  async revokeMethod(sql: Sql, userId: string, method: string, kept: string | undefined): Promise<void> {
    const revocation = { revokedAt: new Date(this.#clock.now()), revokedBecause: 'revoked' } as const
    await sessions.update(sql, { userId, method, id: not(kept ?? NOBODY), revokedAt: null }, revocation)
  }

  /** Rotates the tokens of a session, or ends the session if the token was used before. */
  async #rotate(sql: Sql, row: SessionRow, generation: number, origin: Origin): Promise<Refreshed> {
    const now = this.#clock.now()
    const { generation: current } = row
    if (generation === current || this.#inGrace(row, generation)) {
      if (row.revokedAt !== null || Date.parse(row.expiresAt) <= now) return { kind: 'refused' }
      const next = generation === current ? current + 1 : current
      const { remoteAddress, userAgent } = origin
      const at = new Date(now)
      const rotation = next === current ? {} : { generation: next, rotatedAt: at }
      const use = { lastUsedAt: at, expiresAt: new Date(now + REFRESH_LIFETIME_MS), remoteAddress, userAgent }
      await sessions.update(sql, { id: row.id }, { ...rotation, ...use })
      return { kind: 'pair', pair: this.#pair({ ...row, generation: next }) }
    }
    const revoked = await this.revoke(sql, row.userId, row.id, 'reuse')
    return { kind: 'reused', row, revoked }
  }

  #inGrace(row: SessionRow, generation: number): boolean {
    return generation === row.generation - 1 && this.#clock.now() - Date.parse(row.rotatedAt) <= GRACE_MS
  }

  #pair(row: Pick<SessionRow, 'id' | 'userId' | 'secret' | 'generation'>): TokenPair {
    const body = Buffer.alloc(20)
    body.write(row.id.replaceAll('-', ''), 0, 'hex')
    body.writeUInt32BE(row.generation, 16)
    return {
      accessToken: this.#tokens.issue(row.userId, row.id),
      refreshToken:
        PREFIX + Buffer.concat([body, this.#key.macBytes(signedText(row, row.generation))]).toString('base64url'),
      expiresIn: ACCESS_TOKEN_SECONDS,
    }
  }

  #isMac(row: SessionRow, { generation, mac }: ParsedToken): boolean {
    return this.#key.matches(signedText(row, generation), mac)
  }
}

/** What the MAC of a token covers. */
function signedText({ id, secret }: Pick<SessionRow, 'id' | 'secret'>, generation: number): string {
  return `${id} ${generation} ${secret}`
}

interface ParsedToken {
  readonly sessionId: string
  readonly generation: number
  readonly mac: Buffer
}

/** Parses a refresh token: session id, generation and MAC. */
function parse(token: string): ParsedToken | undefined {
  if (!/^crr_[\w-]{70}$/.test(token)) return undefined
  const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url')
  if (bytes.length !== 52) return undefined
  const hex = bytes.toString('hex', 0, 16)
  const sessionId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { sessionId, generation: bytes.readUInt32BE(16), mac: bytes.subarray(20) }
}
