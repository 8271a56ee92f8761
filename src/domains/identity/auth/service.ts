import type { Caller } from '../../../core/caller.ts'
import { networkOf } from '../../../tools/network-address.ts'
import { EmailUnverified, NotFound } from '../../../core/errors.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Transaction } from '../../../core/sql.ts'
import type { Origin as RequestOrigin } from '../../../core/workspace-logs.ts'
import type { Postman } from '../../../mail/postman.ts'
import { passwordResetMail, securityMail } from '../../../mail/templates.ts'
import type { Foundation } from '../../../foundation.ts'
import {
  announceCredentials,
  emailInUse,
  findUser,
  findUserByEmail,
  lockPassword,
  normalizeEmail,
  setPassword,
  type UserData,
  type UserService,
} from '../users/index.ts'
import type { ApiKeyService } from './api-keys/service.ts'
import { attemptSource } from './attempt-source.ts'
import { deviceName } from './device.ts'
import { mailReset } from './jobs.ts'
import { InvalidResetToken, WrongLogin } from './errors.ts'
import type { EmailConfirmation } from './email-confirmation.ts'
import { evictStranger, markVerified } from './eviction.ts'
import type { KnownDevices } from './known-devices.ts'
import type { PasswordHasher } from './passwords.ts'
import type { PasswordResets } from './password-resets.ts'
import { checkPassword } from './password-rules.ts'
import { requireAdmitted, type SignInGate } from './second-factor/sign-in.ts'
import type { LoginData, PasswordReset, ResetPasswordData, SessionView, SignedInData, SignUpData } from './schemas.ts'
import type { Origin, Sessions, TokenPair } from './sessions.ts'
import type { SessionRow } from './tables.ts'
import type { AttemptThrottle } from './throttle.ts'

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'jobs' | 'log' | 'mailLimits'> & {
  readonly publicUrl: string
  readonly users: UserService
  readonly apiKeys: ApiKeyService
  readonly sessions: Sessions
  readonly hasher: PasswordHasher
  readonly confirmation: EmailConfirmation
  readonly devices: KnownDevices
  readonly gate: SignInGate
  readonly resets: PasswordResets
  readonly throttle: AttemptThrottle
  readonly postman: Postman
}

/**
 * Sign-up and sign-in with email and password.
 *
 * Only sign-up reveals whether an address has an account, because it must say that the address is taken. An account that
 * was never confirmed is not given to the next person who signs up, who may not own the address either. The owner of the
 * mailbox gets the account with the mailed code or a password reset. Both end all other access.
 */
export class AuthService {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws AppError email_in_use, validation_failed, overloaded */
  async signUp(data: SignUpData, origin: Origin): Promise<UserData & { apiKey: string }> {
    const { apiKeys, confirmation, database, hasher, users } = this.#dependencies
    const email = normalizeEmail(data.email)
    checkPassword(data.password, email)
    hasher.admit()
    if ((await findUserByEmail(database, email)) !== undefined) throw emailInUse()
    const passwordHash = await hasher.hash(data.password)
    return database.transaction(async (tx) => {
      const row = await users.insert(tx, { email, name: data.name, passwordHash })
      const apiKey = await apiKeys.issueDefault(tx, row.id)
      await confirmation.begin(tx, row, origin)
      return { ...(await users.viewOf(tx, row)), apiKey }
    })
  }

  /** @throws AppError wrong_login, email_unverified, second_factor_required, too_many_attempts, overloaded */
  async login({ deviceToken, password, ...data }: LoginData, origin: Origin): Promise<SignedInData> {
    const { database, devices, gate, hasher, throttle, users } = this.#dependencies
    const email = normalizeEmail(data.email)
    hasher.admit()
    const row = await findUserByEmail(database, email)
    const source = await attemptSource(this.#dependencies, row?.id, origin, deviceToken)
    await throttle.begin('password', email, source)
    // The same work with and without an account; nothing before this point depends on whether there is one.
    const matches = await hasher.verify(row?.passwordHash, password)
    if (row?.passwordHash == null || !matches) throw WrongLogin()
    const { id, passwordHash } = row
    await throttle.clear('password', email, [source])
    if (!row.emailVerified) throw EmailUnverified()
    const admission = await database.transaction(async (tx) => {
      // The password may have been reset while this one was being checked.
      if (!(await lockPassword(tx, id, passwordHash))) return undefined
      return gate.admit(tx, id, 'password', origin)
    })
    if (admission === undefined) throw WrongLogin()
    const pair = requireAdmitted(admission)
    return { user: await users.viewOf(database, row), ...pair, deviceToken: devices.issue(row.id) }
  }

  /** Mails a reset token if the address has an account. The reply does not reveal whether it has. */
  async forgotPassword(address: string, origin: Origin): Promise<void> {
    const data = { email: normalizeEmail(address), network: networkOf(origin.remoteAddress) }
    await this.#dependencies.jobs.add(this.#dependencies.database, mailReset, data, {
      key: `${data.email} ${data.network}`,
    })
  }

  /** The job of `forgotPassword`. @param network the network that the request came from */
  async mailReset(tx: Transaction, email: string, network: string): Promise<void> {
    const { mailLimits, postman, publicUrl, resets, sessions } = this.#dependencies
    const row = await findUserByEmail(tx, email)
    const isKnown = (await sessions.networksOf(tx, row?.id)).has(network)
    const mail = { kind: isKnown ? 'known_reset' : 'reset', to: email } as const
    if (row === undefined || !(await mailLimits.allows(tx, mail))) return
    const token = await resets.issue(tx, row.id)
    if (token === undefined) return
    await mailLimits.count(tx, mail)
    // Omits the name of an unconfirmed account, which could be used to send advertising.
    const to = row.emailVerified ? row : { email, name: '' }
    await postman.post(tx, passwordResetMail(to, publicUrl, token))
  }

  /**
   * Sets a new password with a mailed token, and ends all sessions. An account that was never confirmed loses its API
   * keys too, because another person may have them. Other API keys keep working, and the mail names them, unless the
   * caller wants them revoked.
   * @throws AppError invalid_reset_token, validation_failed, overloaded
   */
  async resetPassword(
    { password, revokeApiKeys = false, token }: ResetPasswordData,
    origin: RequestOrigin,
  ): Promise<Static<typeof PasswordReset>> {
    const { apiKeys, coordination, database, hasher, postman, resets, sessions, throttle } = this.#dependencies
    const userId = await resets.find(database, token)
    const user = userId === undefined ? undefined : await findUser(database, userId)
    if (user === undefined) throw InvalidResetToken()
    checkPassword(password, user.email)
    const passwordHash = await hasher.hash(password)
    const used = await database.transaction(async (tx) => {
      if (!(await resets.use(tx, user.id, token))) return undefined
      await evictStranger(tx, sessions, user.id, this.#now())
      await setPassword(tx, user.id, passwordHash, this.#now())
      await markVerified(tx, user.id, this.#now())
      await sessions.revokeAll(tx, user.id, 'password')
      const networks = [...(await sessions.networksOf(tx, user.id))].map((network) => `network ${network}` as const)
      await throttle.clear('password', user.email, ['anybody', 'known device', ...networks], tx)
      const { email, id, isAdmin } = user
      const caller: Caller = { userId: id, email, isAdmin, emailVerified: true, via: 'ticket' }
      const revokedApiKeysCount = revokeApiKeys ? await apiKeys.revokeAll(tx, caller, origin) : 0
      const kept = await apiKeys.working(tx, id)
      await postman.post(tx, securityMail(user, { kind: 'password_changed', keys: kept }))
      return { apiKeys: kept, revokedApiKeysCount }
    })
    if (used === undefined) throw InvalidResetToken()
    announceCredentials(coordination, { kind: 'user', userId: user.id })
    return used
  }

  /** @throws AppError invalid_refresh_token, refresh_token_reused */
  async refresh(token: string, origin: Origin): Promise<TokenPair> {
    return this.#dependencies.sessions.refresh(token, origin, (tx, row) => this.#onReuse(tx, row))
  }

  /**
   * Ends the caller's session, those of refresh tokens, or all.
   * @param inCookie the refresh token in the cookie of the browser
   * @returns how many sessions were ended
   */
  async logout(
    caller: Caller,
    options: { refreshToken?: string; everywhere?: boolean },
    inCookie?: string,
  ): Promise<number> {
    const { coordination, database, sessions } = this.#dependencies
    if (options.everywhere) {
      const count = await sessions.revokeAll(database, caller.userId, 'logout')
      announceCredentials(coordination, { kind: 'user', userId: caller.userId })
      return count
    }
    const ids = new Set(caller.sessionId === undefined ? [] : [caller.sessionId])
    for (const token of [options.refreshToken, inCookie]) {
      const named = token && (await sessions.sessionOf(database, token))
      if (named && named.userId === caller.userId) ids.add(named.id)
    }
    const ended = await Promise.all([...ids].map((id) => this.#end(caller.userId, id, 'logout')))
    return ended.filter(Boolean).length
  }

  async listSessions(
    caller: Caller,
    query: { limit?: number; cursor?: string },
  ): Promise<PageResult<Static<typeof SessionView>>> {
    const { database, sessions } = this.#dependencies
    const page = pageRequest(query)
    const rows = await sessions.listActive(database, caller.userId, page)
    const key = ({ createdAt, id }: SessionRow) => ({ createdAt, id })
    return pageOf(rows, page.limit, key, (row) => sessionView(row, caller))
  }

  /** @throws AppError not_found */
  async revokeSession(caller: Caller, sessionId: string): Promise<void> {
    if (!(await this.#end(caller.userId, sessionId, 'revoked'))) throw NotFound()
  }

  async #end(userId: string, sessionId: string, because: 'logout' | 'revoked'): Promise<boolean> {
    const { coordination, database, sessions } = this.#dependencies
    const ended = await sessions.revoke(database, userId, sessionId, because)
    if (ended) announceCredentials(coordination, { kind: 'session', userId, sessionId })
    return ended
  }

  async #onReuse(tx: Transaction, row: SessionRow): Promise<void> {
    const { coordination, log, postman } = this.#dependencies
    tx.afterCommit(() => {
      announceCredentials(coordination, { kind: 'session', userId: row.userId, sessionId: row.id })
    })
    log.warn(
      { userId: row.userId, sessionId: row.id },
      'a used refresh token was presented again; its session was ended',
    )
    const user = await findUser(tx, row.userId)
    const device = deviceName(row.userAgent)
    if (user) await postman.post(tx, securityMail(user, { kind: 'refresh_token_replayed', device }))
  }

  #now(): Date {
    return new Date(this.#dependencies.clock.now())
  }
}

function sessionView(row: SessionRow, caller: Caller): Static<typeof SessionView> {
  return {
    _id: row.id,
    device: deviceName(row.userAgent),
    ip: row.remoteAddress,
    method: row.method,
    secondFactor: row.secondFactor,
    current: row.id === caller.sessionId,
    createdAt: row.createdAt,
    updatedAt: row.lastUsedAt,
    lastUsedAt: row.lastUsedAt,
    expiresAt: row.expiresAt,
  }
}
