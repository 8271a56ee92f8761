import type { Caller } from '../../../core/caller.ts'
import { CredentialExpired, InvalidCredential } from '../../../core/errors.ts'
import { isLimited } from '../../../core/key-limits.ts'
import { isScope } from '../../../core/scope.ts'
import { sha256 } from '../../../tools/id.ts'
import type { Authenticator, Credential } from '../../../core/ports.ts'
import type { Sql } from '../../../core/sql.ts'
import { atLeast, not } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { findUser, onCredentials, usersWithChangedCredentials, type CredentialNotice } from '../users/index.ts'
import { API_KEY, API_KEY_START } from './api-keys/keys.ts'
import type { ApiKeyUses } from './api-keys/uses.ts'
import type { AccessTokens } from './access-tokens.ts'
import { RecentMap } from './recent-map.ts'
import { totps } from './second-factor/tables.ts'
import { apiKeys, sessions } from './tables.ts'

/** Cached credentials of each kind; at most twice as many. About 1 kB each. */
const CAPACITY = 10_000
/** An API key is looked up again after this time, even if it is in constant use. */
const API_KEY_KEPT_MS = 10 * 60_000
const POLL_MS = 1_000
/** A node that has neither received notices nor read revocations for this long does not use its cache. */
const DOUBT_AFTER_MS = 2_000
/** How far back the poll reads revocations: covers slow transactions and clocks that differ. */
const LOOK_BACK_MS = 30_000

const CALLER = { columns: ['email', 'isAdmin', 'emailVerified'] } as const
const API_KEY_LIMITS = { columns: ['id', 'userId', 'scopes', 'workspaceIds', 'expiresAt'] } as const

function hasSecondFactor(sql: Sql, userId: string): Promise<boolean> {
  return totps.exists(sql, { userId, confirmedAt: not(null) })
}

interface Known {
  readonly caller: Caller
  /** Milliseconds since the epoch. */
  readonly until: number
}

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'log'> & {
  readonly tokens: AccessTokens
  readonly keyUses: ApiKeyUses
}

/**
 * Finds the caller behind a credential. Recently used credentials are cached in memory. A revocation drops them on every
 * node with a notice. In a cluster each node also reads the newest revocations every second, so a lost notice delays a
 * revocation by at most that.
 */
export class CredentialAuthenticator implements Authenticator {
  readonly #dependencies: Dependencies
  readonly #tokens = new RecentMap<Known>(CAPACITY)
  readonly #keys = new RecentMap<Known>(CAPACITY)
  readonly #lookups = new Map<string, Promise<Caller>>()
  readonly #ends: (() => void)[]
  /** Incremented by every notice, so that the result of a lookup that was running is not cached. */
  #generation = 0
  #polledAt: number

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    const { clock, coordination, log } = dependencies
    this.#polledAt = clock.monotonic()
    this.#ends = [
      onCredentials(coordination, (notice) => this.#drop(notice)),
      coordination.onRecovered(() => this.#clear()),
    ]
    if (coordination.kind === 'redis') {
      const poll = () =>
        void this.poll().catch((error: unknown) => log.warn({ error }, 'could not read revoked credentials'))
      const timer = setInterval(poll, POLL_MS).unref()
      this.#ends.push(() => clearInterval(timer))
    }
  }

  authenticate(credential: Credential): Caller | Promise<Caller> {
    const text = credential.kind === 'token' ? credential.token : credential.key
    // Clients of other APIs send their key as a Bearer token, too.
    const isToken = credential.kind === 'token' && !text.startsWith(API_KEY_START)
    const known = (isToken ? this.#tokens : this.#keys).get(text)
    if (known !== undefined && this.#dependencies.clock.now() < known.until && this.#trustsCache()) return known.caller
    return this.#findOnce(isToken, text)
  }

  used({ apiKey }: Caller, address: () => string): void {
    if (apiKey) this.#dependencies.keyUses.note(apiKey.id, address)
  }

  /** Drops credentials that the database lists as recently revoked. */
  async poll(): Promise<void> {
    const { clock, database: sql } = this.#dependencies
    const startedAt = clock.monotonic()
    const since = new Date(clock.now() - LOOK_BACK_MS)
    const [revoked, users] = await Promise.all([
      sessions.find(sql, { revokedAt: atLeast(since) }, { columns: ['id'] }),
      usersWithChangedCredentials(sql, since),
    ])
    const gone = new Set([...revoked.map((row) => row.id), ...users])
    if (gone.size > 0) this.#dropWhere(({ sessionId, userId }) => gone.has(userId) || gone.has(sessionId ?? ''))
    this.#polledAt = startedAt
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  #trustsCache(): boolean {
    const { clock, coordination } = this.#dependencies
    return coordination.linked || clock.monotonic() - this.#polledAt < DOUBT_AFTER_MS
  }

  /** Concurrent requests with the same uncached credential share one lookup. */
  #findOnce(isToken: boolean, text: string): Promise<Caller> {
    const pending = this.#lookups.get(text)
    if (pending) return pending
    const lookup = (isToken ? this.#findToken(text) : this.#findKey(text)).finally(() => {
      if (this.#lookups.get(text) === lookup) this.#lookups.delete(text)
    })
    this.#lookups.set(text, lookup)
    return lookup
  }

  async #findToken(token: string): Promise<Caller> {
    const grant = this.#dependencies.tokens.read(token)
    const generation = this.#generation
    const { sessionId, userId } = grant
    const { database: sql } = this.#dependencies
    const [session, user, hasCodes] = await Promise.all([
      sessions.first(sql, { id: sessionId, userId, revokedAt: null }, { columns: ['method'] }),
      findUser(sql, userId, CALLER),
      hasSecondFactor(sql, userId),
    ])
    if (session === undefined || user === undefined) throw InvalidCredential()
    // Passkeys verify their user, so such a sign-in has proved two factors (NIST SP 800-63B-4, section 3.1.7).
    const secondFactor = hasCodes || session.method === 'passkey'
    const caller: Caller = { userId, ...user, secondFactor, sessionId, via: 'token' }
    if (this.#mayCache(caller, generation)) this.#tokens.set(token, { caller, until: grant.expiresAt })
    return caller
  }

  async #findKey(key: string): Promise<Caller> {
    if (!API_KEY.test(key))
      throw InvalidCredential({
        message: 'The API key is malformed. Send the whole key, which starts with `crier_`.',
      })
    const generation = this.#generation
    const { clock, database: sql } = this.#dependencies
    const row = await apiKeys.first(sql, { keyHash: sha256(key) }, API_KEY_LIMITS)
    const user = row && (await findUser(sql, row.userId, CALLER))
    if (row === undefined || user === undefined) throw InvalidCredential()
    const secondFactor = await hasSecondFactor(sql, row.userId)
    const now = clock.now()
    const expiresAt = row.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(row.expiresAt)
    if (expiresAt <= now) throw CredentialExpired({ message: 'The API key has expired. Create a new one.' })
    const apiKey = {
      id: row.id,
      // Scopes that only another version of the service knows are ignored.
      scopes: row.scopes && new Set(row.scopes.filter(isScope)),
      workspaceIds: row.workspaceIds && new Set(row.workspaceIds),
    }
    const isAdmin = user.isAdmin && !isLimited({ apiKey })
    const caller: Caller = { userId: row.userId, ...user, isAdmin, secondFactor, via: 'api_key', apiKey }
    if (this.#mayCache(caller, generation)) {
      this.#keys.set(key, { caller, until: Math.min(now + API_KEY_KEPT_MS, expiresAt) })
    }
    return caller
  }

  /** An unconfirmed account is not cached, so that confirming its address takes effect at once on every node. */
  #mayCache(caller: Caller, generation: number): boolean {
    return caller.emailVerified && generation === this.#generation
  }

  #drop(notice: CredentialNotice): void {
    this.#dropWhere((caller) =>
      notice.kind === 'session' ? caller.sessionId === notice.sessionId : caller.userId === notice.userId,
    )
  }

  #dropWhere(test: (caller: Caller) => boolean): void {
    this.#generation += 1
    // Requests from now on must not share a lookup that began before the revocation.
    this.#lookups.clear()
    for (const map of [this.#tokens, this.#keys]) map.deleteWhere((known) => test(known.caller))
  }

  #clear(): void {
    this.#generation += 1
    this.#lookups.clear()
    this.#tokens.clear()
    this.#keys.clear()
  }
}
