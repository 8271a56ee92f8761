import { AppError } from '../../../core/error.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import { sha256, uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Transaction } from '../../../db/database.ts'
import { isDeadlock, isUniqueViolation } from '../../../db/prepared-sql.ts'
import type { Postman } from '../../../mail/postman.ts'
import { securityMail, welcomeMail } from '../../../mail/templates.ts'
import type { Foundation } from '../../../foundation.ts'
import {
  announceCredentials,
  EmailInUse,
  findUser,
  findUserByEmail,
  normalizeEmail,
  type UserRow,
  type UserService,
} from '../users/index.ts'
import { evictStranger, markVerified } from './eviction.ts'
import { ProviderEmailUnverified, ProviderNotConfigured } from './errors.ts'
import { refuse, type ProvenIdentity, type SignInProvider } from './providers/provider.ts'
import type { KnownDevices } from './known-devices.ts'
import { requireAdmitted, type SignInGate } from './second-factor/sign-in.ts'
import type { ProviderSignInData, SignedInData } from './schemas.ts'
import type { Origin, Sessions } from './sessions.ts'
import { identities, usedNonces } from './tables.ts'

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database'> & {
  readonly publicUrl: string
  readonly users: UserService
  readonly sessions: Sessions
  readonly gate: SignInGate
  readonly postman: Postman
  readonly devices: KnownDevices
  readonly providers: ReadonlyMap<string, SignInProvider>
}

/** Concurrent sign-ins of one person can conflict; then the transaction runs again, this often at most. */
const MAX_TRIES = 4

function isRace(error: unknown): boolean {
  if (error instanceof AppError) return error.code === EmailInUse.code
  return isUniqueViolation(error, 'identities_subject_key') || isDeadlock(error)
}

/** How a sign-in found its user: by a known identity, by linking an existing account, or by creating one. */
type Arrival = { readonly row: UserRow; readonly how: 'known' | 'linked' | 'created'; readonly evicted: boolean }

/**
 * Sign-in with providers. An identity is found by issuer and subject, never by address. An identity is linked to an
 * account by address only if the provider has verified the address. If the account was never confirmed, the credentials
 * of its sign-up are removed first. Otherwise the person who signed up would share the account.
 */
export class ProviderSignIn {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Names of the configured providers. */
  names(): string[] {
    return [...this.#dependencies.providers.keys()].sort()
  }

  /**
   * @throws AppError provider_not_configured, provider_sign_in_failed, provider_email_unverified, provider_unavailable,
   *   second_factor_required
   */
  async signIn(name: string, proof: ProviderSignInData, origin: Origin): Promise<SignedInData & { created: boolean }> {
    const provider = this.#dependencies.providers.get(name)
    if (provider === undefined) throw ProviderNotConfigured({ message: this.#notConfigured(name) })
    if ((proof.idToken === undefined) === (proof.code === undefined)) {
      const errors = [{ path: '/body', code: 'either', message: 'must have either `idToken` or `code`, not both' }]
      throw ValidationFailed({ message: 'Send either `idToken` or `code`, not both.', errors })
    }
    const identity = await provider.prove(proof)
    const { admission, arrival } = await this.#admit(name, provider.label, identity, origin)
    if (arrival.evicted) announceCredentials(this.#dependencies.coordination, { kind: 'user', userId: arrival.row.id })
    const pair = requireAdmitted(admission)
    const { database, devices, users } = this.#dependencies
    const user = await users.viewOf(database, arrival.row)
    return { user, ...pair, deviceToken: devices.issue(user._id), created: arrival.how === 'created' }
  }

  /** Retries when a concurrent first sign-in has created the account or identity. */
  async #admit(name: string, label: string, identity: ProvenIdentity, origin: Origin) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#admitOnce(name, label, identity, origin)
      } catch (error) {
        if (tries === MAX_TRIES || !isRace(error)) throw error
      }
    }
  }

  async #admitOnce(name: string, label: string, identity: ProvenIdentity, origin: Origin) {
    const { database, gate } = this.#dependencies
    return database.transaction(async (tx) => {
      await this.#useUp(tx, identity)
      const arrival = (await this.#findKnown(tx, name, identity)) ?? (await this.#arrive(tx, name, identity))
      await this.#mail(tx, arrival, label)
      return { arrival, admission: await gate.admit(tx, arrival.row.id, name, origin) }
    })
  }

  async #useUp(sql: Sql, { singleUse }: ProvenIdentity): Promise<void> {
    if (singleUse === undefined) return
    const nonce = { digest: sha256(singleUse.id), expiresAt: new Date(singleUse.until) }
    const first = await usedNonces.insert(sql, nonce, { ignoreConflict: true })
    if (first === 0) refuse('the ID token was already used')
  }

  async #findKnown(sql: Sql, name: string, { issuer, subject, email }: ProvenIdentity): Promise<Arrival | undefined> {
    const identity = { provider: name, issuer, subject }
    const [known] = await identities.updateReturning(sql, identity, { lastUsedAt: this.#now(), email })
    const row = known && (await findUser(sql, known.userId))
    return row && { row, how: 'known', evicted: false }
  }

  async #arrive(tx: Transaction, name: string, identity: ProvenIdentity): Promise<Arrival> {
    const { sessions, users } = this.#dependencies
    if (identity.email === undefined || !identity.emailVerified) throw ProviderEmailUnverified()
    const email = normalizeEmail(identity.email)
    // Not `for update`, which would block the insert of a session by a sign-in that has already found the account.
    const there = await findUserByEmail(tx, email, { lock: 'for no key update' })
    if (there === undefined) {
      const row = await users.insert(tx, { email, name: identity.name?.slice(0, 100), emailVerified: true })
      await this.#link(tx, row.id, name, identity)
      return { row, how: 'created', evicted: false }
    }
    const evicted = await evictStranger(tx, sessions, there.id, this.#now())
    await markVerified(tx, there.id, this.#now())
    await this.#link(tx, there.id, name, identity)
    return { row: (await findUser(tx, there.id)) ?? there, how: 'linked', evicted }
  }

  async #link(sql: Sql, userId: string, name: string, identity: ProvenIdentity): Promise<void> {
    const now = this.#now()
    const { email, issuer, subject } = identity
    const id = uuidv7(now.getTime())
    const row = { id, userId, provider: name, issuer, subject, email, createdAt: now, lastUsedAt: now }
    await identities.insert(sql, row)
  }

  async #mail(tx: Transaction, { row, how }: Arrival, label: string): Promise<void> {
    const { postman, publicUrl } = this.#dependencies
    if (how === 'created') await postman.post(tx, welcomeMail(row, publicUrl))
    if (how === 'linked') await postman.post(tx, securityMail(row, { kind: 'sign_in_linked', provider: label }))
  }

  #notConfigured(name: string): string {
    const names = this.names()
    return `Sign-in with ${name} is not configured. ${names.length > 0 ? `Use one of these: ${names.join(', ')}.` : 'No provider is configured. Sign in with email and password.'}`
  }

  #now(): Date {
    return new Date(this.#dependencies.clock.now())
  }
}
