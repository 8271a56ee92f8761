import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { networkOf } from '../../../core/client-address.ts'
import { DAY, SECOND, type Clock } from '../../../core/clock.ts'
import { secretToken, uuidv7 } from '../../../core/id.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import { ACCESS_TOKEN_SECONDS, type AccessTokens } from './access-tokens.ts'
import { InvalidRefreshToken, RefreshTokenReused } from './errors.ts'

const LIFETIME_MS = 30 * DAY
/** Two tabs that refresh with the same token at once both go on. */
const GRACE_MS = 10 * SECOND
const PREFIX = 'crr_'
/** The newest sessions of a user, by which their networks are known. */
const REMEMBERED = 100

/** Where a request came from. */
export interface Origin {
  readonly remoteAddress: string
  readonly userAgent: string
}

/** What a login hands out. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  /** Seconds that the access token lives. */
  readonly expiresIn: number
}

export interface SessionRow {
  id: string
  user_id: string
  secret: string
  generation: number
  rotated_at: string
  method: string
  remote_address: string
  user_agent: string
  created_at: string
  last_used_at: string
  expires_at: string
  revoked_at: string | null
}

export type RevocationReason = 'logout' | 'revoked' | 'reuse' | 'password' | 'takeover'

type Refreshed =
  | { readonly kind: 'pair'; readonly pair: TokenPair }
  | { readonly kind: 'refused' }
  | { readonly kind: 'reused'; readonly row: SessionRow; readonly revoked: boolean }

/**
 * Logins and their refresh tokens. The tokens of a session are one family: each names its session and generation and
 * carries a MAC over them, made with the session's own secret and a key of the installation. So a token that is older
 * than the present one is known to be genuine without any token being stored, neither the database nor the key alone
 * is enough to make one, and the token of a generation is always the same: whoever asks again within the grace gets
 * the very pair that the other tab got.
 */
export class Sessions {
  readonly #database: Database
  readonly #clock: Clock
  readonly #tokens: AccessTokens
  readonly #key: Buffer

  constructor(database: Database, clock: Clock, tokens: AccessTokens, secret: string) {
    this.#database = database
    this.#clock = clock
    this.#tokens = tokens
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'refresh tokens', 32))
  }

  /** Starts a session in the transaction that found the user to be who they say. */
  async start(sql: Sql, userId: string, method: string, origin: Origin): Promise<TokenPair> {
    const now = this.#clock.now()
    const row = { id: uuidv7(now), user_id: userId, secret: secretToken(32), generation: 1 }
    await sql.run(
      `insert into sessions (id, user_id, secret, generation, rotated_at, method, remote_address, user_agent,
         created_at, last_used_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $5, $5, $9)`,
      [
        row.id,
        userId,
        row.secret,
        row.generation,
        new Date(now),
        method,
        origin.remoteAddress,
        origin.userAgent,
        new Date(now + LIFETIME_MS),
      ],
    )
    return this.#pair(row)
  }

  /**
   * Exchanges a refresh token for the next pair.
   * @param onReuse hears of a session that was ended because one of its used tokens came again
   * @throws AppError invalid_refresh_token, refresh_token_reused
   */
  async refresh(
    token: string,
    origin: Origin,
    onReuse: (tx: Transaction, row: SessionRow) => Promise<void>,
  ): Promise<TokenPair> {
    const named = parse(token)
    if (named === undefined) throw InvalidRefreshToken()
    const result = await this.#database.transaction(async (tx): Promise<Refreshed> => {
      // The lock makes two refreshes with one token a first and a second.
      const row = await tx.row<SessionRow>('select * from sessions where id = $1 for update', [named.sessionId])
      if (row === undefined || !timingSafeEqual(named.mac, this.#mac(row, named.generation))) return { kind: 'refused' }
      const judged = await this.#judge(tx, row, named.generation, origin)
      if (judged.kind === 'reused' && judged.revoked) await onReuse(tx, judged.row)
      return judged
    })
    if (result.kind === 'pair') return result.pair
    if (result.kind === 'refused') throw InvalidRefreshToken()
    throw RefreshTokenReused()
  }

  /** The session that a genuine refresh token belongs to, whatever its generation. */
  async sessionOf(sql: Sql, token: string): Promise<SessionRow | undefined> {
    const named = parse(token)
    if (named === undefined) return undefined
    const row = await sql.row<SessionRow>('select * from sessions where id = $1', [named.sessionId])
    return row !== undefined && timingSafeEqual(named.mac, this.#mac(row, named.generation)) ? row : undefined
  }

  /** The networks from which the account with an address was lately used; none for an address without an account. */
  async networksOf(sql: Sql, email: string): Promise<Set<string>> {
    const rows = await sql.rows<{ remote_address: string }>(
      `select s.remote_address from users u join sessions s on s.user_id = u.id
       where u.email = $1 order by s.created_at desc limit ${REMEMBERED}`,
      [email],
    )
    return new Set(rows.map((row) => networkOf(row.remote_address)))
  }

  /** Ends one session of a user. False when there is none such that still lives. */
  async revoke(sql: Sql, userId: string, sessionId: string, because: RevocationReason): Promise<boolean> {
    const now = new Date(this.#clock.now())
    const ended = await sql.run(
      `update sessions set revoked_at = $3, revoked_because = $4
       where id = $2 and user_id = $1 and revoked_at is null and expires_at > $3`,
      [userId, sessionId, now, because],
    )
    return ended > 0
  }

  /** Ends every session of a user. @returns how many */
  async revokeAll(sql: Sql, userId: string, because: RevocationReason): Promise<number> {
    return sql.run(
      'update sessions set revoked_at = $2, revoked_because = $3 where user_id = $1 and revoked_at is null',
      [userId, new Date(this.#clock.now()), because],
    )
  }

  async #judge(sql: Sql, row: SessionRow, generation: number, origin: Origin): Promise<Refreshed> {
    const now = this.#clock.now()
    const { generation: current } = row
    if (generation === current || this.#inGrace(row, generation)) {
      if (row.revoked_at !== null || Date.parse(row.expires_at) <= now) return { kind: 'refused' }
      const next = generation === current ? current + 1 : current
      await sql.run(
        `update sessions set generation = $2, rotated_at = case when generation = $2 then rotated_at else $3 end,
           last_used_at = $3, expires_at = $4, remote_address = $5, user_agent = $6 where id = $1`,
        [row.id, next, new Date(now), new Date(now + LIFETIME_MS), origin.remoteAddress, origin.userAgent],
      )
      return { kind: 'pair', pair: this.#pair({ ...row, generation: next }) }
    }
    const revoked = await this.revoke(sql, row.user_id, row.id, 'reuse')
    return { kind: 'reused', row, revoked }
  }

  #inGrace(row: SessionRow, generation: number): boolean {
    return generation === row.generation - 1 && this.#clock.now() - Date.parse(row.rotated_at) <= GRACE_MS
  }

  #pair(row: Pick<SessionRow, 'id' | 'user_id' | 'secret' | 'generation'>): TokenPair {
    const body = Buffer.alloc(20)
    body.write(row.id.replaceAll('-', ''), 0, 'hex')
    body.writeUInt32BE(row.generation, 16)
    return {
      accessToken: this.#tokens.issue(row.user_id, row.id),
      refreshToken: PREFIX + Buffer.concat([body, this.#mac(row, row.generation)]).toString('base64url'),
      expiresIn: ACCESS_TOKEN_SECONDS,
    }
  }

  #mac(row: Pick<SessionRow, 'id' | 'secret'>, generation: number): Buffer {
    return createHmac('sha256', this.#key).update(`${row.id} ${generation} ${row.secret}`).digest()
  }
}

/** Takes a refresh token apart: session id, generation and MAC. */
function parse(token: string): { sessionId: string; generation: number; mac: Buffer } | undefined {
  if (!/^crr_[\w-]{70}$/.test(token)) return undefined
  const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url')
  if (bytes.length !== 52) return undefined
  const hex = bytes.toString('hex', 0, 16)
  const sessionId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { sessionId, generation: bytes.readUInt32BE(16), mac: bytes.subarray(20) }
}
