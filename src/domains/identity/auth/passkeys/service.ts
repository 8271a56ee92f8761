import type { Caller } from '../../../../core/caller.ts'
import { EmailUnverified, NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { sha256, uuidv7 } from '../../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../../core/precondition.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Static } from '../../../../core/schema.ts'
import type { Sql, Transaction } from '../../../../core/sql.ts'
import { validator, type Validator } from '../../../../core/validate.ts'
import { increment } from '../../../../db/increment.ts'
import type { Foundation } from '../../../../foundation.ts'
import type { Postman } from '../../../../mail/postman.ts'
import { securityMail } from '../../../../mail/templates.ts'
import {
  announceCredentials,
  findUser,
  markCredentialsChanged,
  type UserRow,
  type UserService,
} from '../../users/index.ts'
import { deviceName } from '../device.ts'
import type { KnownDevices } from '../known-devices.ts'
import type { Reauthentication } from '../reauthentication.ts'
import type { SignedInData } from '../schemas.ts'
import type { ProofData } from '../second-factor/schemas.ts'
import type { Origin, Sessions } from '../sessions.ts'
import { usedNonces } from '../tables.ts'
import type { PasskeyChallenges, Purpose } from './challenges.ts'
import { PasskeyRefused, TooManyPasskeys } from './errors.ts'
import type { RelyingParty } from './relying-party.ts'
import {
  AuthenticationResponse,
  RegistrationResponse,
  type NewPasskeyData,
  type PasskeyCreationOptions,
  type PasskeyRequestOptions,
  type PasskeyView,
} from './schemas.ts'
import { passkeys, type PasskeyRow } from './tables.ts'

const MAX_PASSKEYS = 20

const registrationOf = validator(RegistrationResponse, '/body/response')
const authenticationOf = validator(AuthenticationResponse, '/body/response')

type View = Static<typeof PasskeyView>

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'log'> & {
  readonly challenges: PasskeyChallenges
  readonly devices: KnownDevices
  readonly party: RelyingParty
  readonly postman: Postman
  readonly reauthentication: Reauthentication
  readonly sessions: Sessions
  readonly users: UserService
}

/**
 * The passkeys of users, and sign-ins with them. A passkey proves possession of a device and its PIN or biometrics, so
 * such a sign-in needs no second factor.
 */
export class PasskeyService {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws AppError too_many_passkeys; the errors of `Reauthentication.require` */
  async creationOptions(caller: Caller, proof: ProofData): Promise<Static<typeof PasskeyCreationOptions>> {
    const { challenges, database, party, reauthentication } = this.#dependencies
    await reauthentication.require(caller, proof)
    const user = await findUser(database, caller.userId)
    if (user === undefined) throw NotFound()
    const existing = await passkeys.find(database, { userId: user.id }, { limit: MAX_PASSKEYS })
    requireRoom(existing.length)
    const { challenge, expiresAt } = challenges.issue(registration(user.id))
    return { options: await party.creationOptions(user, challenge, existing), expiresAt }
  }

  /** Registers a passkey with a challenge of `creationOptions`. @throws AppError passkey_refused, too_many_passkeys */
  async create({ userId }: Caller, { name, response }: NewPasskeyData, { userAgent }: Origin): Promise<View> {
    const { database, party, postman } = this.#dependencies
    const challenge = new SignedChallenge(this.#dependencies.challenges, registration(userId))
    const key = await party.verifyRegistration(
      parse(registrationOf, response) as Static<typeof RegistrationResponse>,
      challenge.check,
    )
    return database.transaction(async (tx) => {
      // The lock makes concurrent registrations count one after the other.
      const user = await findUser(tx, userId, { lock: 'for no key update' })
      if (user === undefined) throw NotFound()
      await challenge.use(tx)
      requireRoom(await passkeys.count(tx, { userId }))
      const now = this.#now()
      const row = { id: uuidv7(now.getTime()), userId, name: name ?? deviceName(userAgent), ...key }
      const times = { lastUsedAt: null, createdAt: now, updatedAt: now }
      if ((await passkeys.insert(tx, { ...row, ...times }, { ignoreConflict: true })) === 0) throw PasskeyRefused()
      await postman.post(tx, securityMail(user, { kind: 'passkey_added', passkey: row.name }))
      return view(await this.#row(tx, userId, row.id))
    })
  }

  /** A page of the caller's passkeys, newest first. */
  async list({ userId }: Caller, page: PageRequest): Promise<PageResult<View>> {
    const rows = await passkeys.page(this.#dependencies.database, { userId }, page)
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), view)
  }

  /** @throws AppError not_found */
  async get({ userId }: Caller, id: string): Promise<View> {
    return view(await this.#row(this.#dependencies.database, userId, id))
  }

  /** @throws AppError not_found, precondition_failed */
  async rename({ userId }: Caller, id: string, name: string, ifMatch: IfMatch): Promise<View> {
    return this.#dependencies.database.transaction(async (tx) => {
      requireVersion(ifMatch, (await this.#row(tx, userId, id, 'for update')).version)
      await passkeys.update(tx, { id, userId }, { name, version: increment(), updatedAt: this.#now() })
      return view(await this.#row(tx, userId, id))
    })
  }

  /**
   * Deletes a passkey and ends the sessions that were started with one.
   * @throws AppError not_found; the errors of `Reauthentication.require`
   */
  async delete(caller: Caller, id: string, proof: ProofData): Promise<void> {
    const { coordination, database, postman, reauthentication, sessions } = this.#dependencies
    await reauthentication.require(caller, proof)
    const { sessionId, userId } = caller
    await database.transaction(async (tx) => {
      const user = await findUser(tx, userId, { lock: 'for no key update' })
      const [row] = await passkeys.deleteReturning(tx, { id, userId })
      if (user === undefined || row === undefined) throw NotFound()
      await sessions.revokeMethod(tx, userId, 'passkey', sessionId)
      await markCredentialsChanged(tx, userId, this.#now())
      await postman.post(tx, securityMail(user, { kind: 'passkey_deleted', passkey: row.name }))
      tx.afterCommit(() => announceCredentials(coordination, { kind: 'user', userId }))
    })
  }

  async requestOptions(): Promise<Static<typeof PasskeyRequestOptions>> {
    const { challenges, party } = this.#dependencies
    const { challenge, expiresAt } = challenges.issue('sign-in')
    return { options: await party.requestOptions(challenge), expiresAt }
  }

  /** @throws AppError passkey_refused, email_unverified */
  async signIn(data: Record<string, unknown>, origin: Origin): Promise<SignedInData> {
    const { database, devices, log, party, sessions, users } = this.#dependencies
    const response = parse(authenticationOf, data) as Static<typeof AuthenticationResponse>
    const row = await passkeys.first(database, { credentialId: response.id })
    if (row === undefined) throw PasskeyRefused()
    const challenge = new SignedChallenge(this.#dependencies.challenges, 'sign-in')
    let used: { readonly counter: number; readonly backedUp: boolean }
    try {
      used = await party.verifySignIn(response, row, challenge.check)
    } catch (error) {
      log.warn({ error, userId: row.userId, passkeyId: row.id }, 'a passkey was refused')
      throw error
    }
    const { pair, user } = await database.transaction(async (tx) => {
      await challenge.use(tx)
      const owner = await this.#use(tx, row, used)
      return { user: owner, pair: await sessions.start(tx, owner.id, 'passkey', origin) }
    })
    return { user: await users.viewOf(database, user), ...pair, deviceToken: devices.issue(user.id) }
  }

  /** Stores the use of a passkey, unless it was deleted or used with a higher counter in the meantime. */
  async #use(tx: Transaction, row: PasskeyRow, used: { counter: number; backedUp: boolean }): Promise<UserRow> {
    const user = await findUser(tx, row.userId)
    const current = { id: row.id, counter: row.counter }
    const changed = await passkeys.update(tx, current, { ...used, lastUsedAt: this.#now() })
    if (user === undefined || changed === 0) throw PasskeyRefused()
    if (!user.emailVerified) throw EmailUnverified()
    return user
  }

  async #row(sql: Sql, userId: string, id: string, lock?: 'for update'): Promise<PasskeyRow> {
    const row = await passkeys.first(sql, { id, userId }, lock && { lock })
    if (row === undefined) throw NotFound()
    return row
  }

  #now(): Date {
    return new Date(this.#dependencies.clock.now())
  }
}

/** The challenge of one request, which the reply of the authenticator names. */
class SignedChallenge {
  readonly #challenges: PasskeyChallenges
  readonly #purpose: Purpose
  #challenge = ''
  #expiresAt: Date | undefined

  constructor(challenges: PasskeyChallenges, purpose: Purpose) {
    this.#challenges = challenges
    this.#purpose = purpose
  }

  readonly check = (challenge: string): boolean => {
    this.#challenge = challenge
    this.#expiresAt = this.#challenges.expiryOf(challenge, this.#purpose)
    return this.#expiresAt !== undefined
  }

  /** Uses the challenge up, in the transaction of what it permits. @throws AppError passkey_refused for a second use */
  async use(tx: Sql): Promise<void> {
    if (this.#expiresAt === undefined) throw PasskeyRefused()
    const nonce = { digest: sha256(`passkey ${this.#challenge}`), expiresAt: this.#expiresAt }
    if ((await usedNonces.insert(tx, nonce, { ignoreConflict: true })) === 0) throw PasskeyRefused()
  }
}

function registration(userId: string): Purpose {
  return `registration ${userId}`
}

/** The fields of a browser's reply that are used. @throws AppError validation_failed */
function parse(validate: Validator, response: Record<string, unknown>): unknown {
  const result = validate(response)
  if (!result.ok) throw ValidationFailed({ errors: result.errors })
  return result.value
}

/** @throws AppError too_many_passkeys */
function requireRoom(count: number): void {
  if (count >= MAX_PASSKEYS) throw TooManyPasskeys()
}

function view({ backedUp, createdAt, id, lastUsedAt, name, updatedAt, version }: PasskeyRow): View {
  return { _id: id, name, backedUp, lastUsedAt, version, createdAt, updatedAt }
}
