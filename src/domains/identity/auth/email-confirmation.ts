import { HOUR } from '../../../core/clock.ts'
import { networkOf } from '../../../tools/network-address.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import type { Postman } from '../../../mail/postman.ts'
import { confirmedElsewhereMail, verificationMail, welcomeMail } from '../../../mail/templates.ts'
import type { Foundation } from '../../../foundation.ts'
import {
  announceCredentials,
  findUser,
  findUserByEmail,
  normalizeEmail,
  setPassword,
  type UserRow,
  type UserService,
} from '../users/index.ts'
import { evictStranger, markVerified } from './eviction.ts'
import { mailCode } from './jobs.ts'
import { WrongCode } from './errors.ts'
import type { KnownDevices } from './known-devices.ts'
import type { OneTimeCodes } from './one-time-codes.ts'
import { checkPassword } from './password-rules.ts'
import type { PasswordHasher } from './passwords.ts'
import type { PasswordResets } from './password-resets.ts'
import type { ConfirmedData, VerifyEmailData } from './schemas.ts'
import type { Origin, Sessions } from './sessions.ts'
import { NOBODY, pendingSignUps } from './tables.ts'
import type { AttemptThrottle } from './throttle.ts'

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'jobs' | 'mailLimits'> & {
  readonly publicUrl: string
  readonly users: UserService
  readonly sessions: Sessions
  readonly hasher: PasswordHasher
  readonly codes: OneTimeCodes
  readonly resets: PasswordResets
  readonly throttle: AttemptThrottle
  readonly devices: KnownDevices
  readonly postman: Postman
}

/** How long network and User-Agent identify the client that signed up. Short, because networks are shared. */
const SAME_CLIENT_MS = HOUR

/**
 * Confirms the address of an account.
 *
 * The mailed code proves that the caller reads the mailbox. It does not prove that the caller signed up: anyone can sign
 * up with another person's address and wait for its owner to confirm it. The password, API key and name of the sign-up are
 * therefore kept only if the caller also proves to be the one who signed up, with one of:
 *
 * - the password of the sign-up, sent with the code;
 * - the API key of the sign-up, as the credential of the request;
 * - the same network and User-Agent as the sign-up, within an hour. This is the weakest proof, because other clients can share
 *   both. Without it, the code alone would never be enough.
 *
 * Without proof the address is still confirmed, because the caller owns it, but the credentials of the sign-up are
 * removed. The caller gets a session and a token to choose a password.
 */
export class EmailConfirmation {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Records which client signed up and mails the first code, in the transaction of the sign-up. */
  async begin(tx: Transaction, { email, id }: UserRow, origin: Origin): Promise<void> {
    const { remoteAddress, userAgent } = origin
    const network = networkOf(remoteAddress)
    await pendingSignUps.insert(tx, { userId: id, network, userAgent, createdAt: this.#now() })
    const code = await this.#dependencies.codes.issue(tx, id)
    if (code !== undefined) await this.#send(tx, 'known_code', email, code)
  }

  /**
   * Confirms an address with its code, and signs in. A `password` becomes the password of the account.
   * @param callerId the user whose credential came with the request
   * @throws AppError wrong_code, too_many_attempts, validation_failed, overloaded
   */
  async confirm(data: VerifyEmailData, origin: Origin, callerId: string | undefined): Promise<ConfirmedData> {
    const { database, devices, hasher, throttle } = this.#dependencies
    const { otp, password } = data
    const email = normalizeEmail(data.email)
    if (password !== undefined) {
      checkPassword(password, email)
      hasher.admit()
    }
    const before = await findUserByEmail(database, email)
    const isFromSignUpNetwork = await this.#isFromSignUpNetwork(database, before?.id, origin)
    const source = isFromSignUpNetwork ? (`network ${networkOf(origin.remoteAddress)}` as const) : 'anybody'
    await throttle.begin('code', email, source)
    const matches = password !== undefined && (await hasher.verify(before?.passwordHash, password))
    const passwordHash = password === undefined || matches ? undefined : await hasher.hash(password)
    // A wrong code must not roll back the transaction, which has counted the attempt.
    const confirmed = await database.transaction(async (tx) => {
      const row = await findUserByEmail(tx, email)
      const judged =
        row === undefined ? 'none' : await this.#dependencies.codes.use(tx, row.id, otp, isFromSignUpNetwork)
      if (row === undefined || judged !== 'right') {
        if (judged === 'none') await throttle.touch('code', email, source, tx)
        return undefined
      }
      const isProven =
        callerId === row.id ||
        (matches && row.passwordHash === before?.passwordHash) ||
        (await this.#isSameClient(tx, row.id, origin))
      return this.#open(tx, row, origin, { isProven, passwordHash })
    })
    if (confirmed === undefined) throw WrongCode()
    await throttle.clear('code', email, [source])
    return { ...confirmed, deviceToken: devices.issue(confirmed.user._id) }
  }

  /** Mails a new code if an account is waiting for one. The reply does not reveal whether it is. */
  async resend(address: string, origin: Origin): Promise<void> {
    const data = { email: normalizeEmail(address), network: networkOf(origin.remoteAddress) }
    await this.#dependencies.jobs.add(this.#dependencies.database, mailCode, data, {
      key: `${data.email} ${data.network}`,
    })
  }

  /** The job of `resend`. @param network the network that the request came from */
  async mailCode(tx: Transaction, email: string, network: string): Promise<void> {
    const { codes, mailLimits } = this.#dependencies
    const row = await findUserByEmail(tx, email)
    if (row === undefined || row.emailVerified) return
    const signUp = await findSignUp(tx, row.id)
    const kind = signUp?.network === network ? 'known_code' : 'code'
    const code = (await mailLimits.allows(tx, { kind, to: email })) ? await codes.issue(tx, row.id) : undefined
    if (code !== undefined) await this.#send(tx, kind, email, code)
  }

  async #open(
    tx: Transaction,
    row: UserRow,
    origin: Origin,
    { isProven, passwordHash }: { isProven: boolean; passwordHash: string | undefined },
  ): Promise<Omit<ConfirmedData, 'deviceToken'>> {
    const { coordination, postman, publicUrl, resets, sessions, users } = this.#dependencies
    const now = this.#now()
    if (!isProven) {
      await evictStranger(tx, sessions, row.id, now)
      tx.afterCommit(() => announceCredentials(coordination, { kind: 'user', userId: row.id }))
    }
    if (passwordHash !== undefined) await setPassword(tx, row.id, passwordHash, now)
    await markVerified(tx, row.id, now)
    const pair = await sessions.start(tx, row.id, 'code', origin)
    const user = await users.viewOf(tx, (await findUser(tx, row.id)) ?? row)
    if (isProven || passwordHash !== undefined) {
      await postman.post(tx, welcomeMail(user, publicUrl))
      return { user, ...pair }
    }
    const passwordReset = await resets.create(tx, row.id)
    await postman.post(tx, confirmedElsewhereMail(user, publicUrl, passwordReset.token))
    return { user, ...pair, passwordReset }
  }

  async #send(tx: Transaction, kind: 'code' | 'known_code', to: string, code: string): Promise<void> {
    await this.#dependencies.mailLimits.count(tx, { kind, to })
    await this.#dependencies.postman.post(tx, verificationMail({ email: to }, code))
  }

  async #isFromSignUpNetwork(sql: Sql, userId: string | undefined, origin: Origin): Promise<boolean> {
    // Also read for an address without an account, so that both take the same time.
    const signUp = await findSignUp(sql, userId ?? NOBODY)
    return signUp?.network === networkOf(origin.remoteAddress)
  }

  async #isSameClient(sql: Sql, userId: string, { remoteAddress, userAgent }: Origin): Promise<boolean> {
    const signUp = await findSignUp(sql, userId)
    return (
      signUp !== undefined &&
      signUp.network === networkOf(remoteAddress) &&
      signUp.userAgent === userAgent &&
      this.#dependencies.clock.now() - Date.parse(signUp.createdAt) <= SAME_CLIENT_MS
    )
  }

  #now(): Date {
    return new Date(this.#dependencies.clock.now())
  }
}

function findSignUp(sql: Sql, userId: string) {
  return pendingSignUps.first(sql, { userId })
}
