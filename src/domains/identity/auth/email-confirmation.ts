import { HOUR, type Clock } from '../../../core/clock.ts'

import { networkOf } from '../../../core/client-address.ts'
import type { Jobs } from '../../../core/job.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { Database } from '../../../db/database.ts'
import type { MailLimits } from '../../../mail/limits.ts'
import type { Postman } from '../../../mail/postman.ts'
import { confirmedElsewhereMail, verificationMail, welcomeMail } from '../../../mail/templates.ts'
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

declare module '../../../core/services.ts' {
  interface Services {
    readonly emailConfirmation: EmailConfirmation
  }
}

export interface EmailConfirmationOptions {
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly publicUrl: string
  readonly users: UserService
  readonly sessions: Sessions
  readonly hasher: PasswordHasher
  readonly codes: OneTimeCodes
  readonly resets: PasswordResets
  readonly throttle: AttemptThrottle
  readonly devices: KnownDevices
  readonly postman: Postman
  readonly mailLimits: MailLimits
  readonly jobs: Jobs
}

/** For so long the client that signed up is known again by its network and program: networks are shared. */
const SAME_CLIENT_MS = HOUR

/**
 * Confirming the address of an account.
 *
 * The mailed code proves that its sender reads the mailbox. It does not prove that they signed up: anybody can sign up
 * with a stranger's address and wait for the stranger to confirm it. So what the sign-up made, its password, API key and
 * name, is kept only for a caller who also proves to be the one who signed up, by one of:
 *
 * - the password of the sign-up, beside the code;
 * - the API key of the sign-up, as the credential of the request;
 * - being the same client, by network and User-Agent, within an hour. This is the weakest proof: somebody who shares
 *   the network and the program can pass for the stranger. Without it nobody could confirm by the code alone.
 *
 * Without proof the address is confirmed all the same, because its owner is there, and the sign-up's credentials are
 * removed. The owner gets a session, and a token to choose a password.
 */
export class EmailConfirmation {
  readonly #options: EmailConfirmationOptions

  constructor(options: EmailConfirmationOptions) {
    this.#options = options
  }

  /** Notes who signed up and mails the first code, in the transaction of the sign-up. */
  async begin(tx: Transaction, { email, id }: UserRow, origin: Origin): Promise<void> {
    const { remoteAddress, userAgent } = origin
    const network = networkOf(remoteAddress)
    await pendingSignUps.insert(tx, { userId: id, network, userAgent, createdAt: this.#now() })
    const code = await this.#options.codes.issue(tx, id)
    if (code !== undefined) await this.#send(tx, 'known_code', email, code)
  }

  /**
   * Confirms an address with its code, and signs in. A `password` is the account's from then on.
   * @param callerId whose credential came with the request
   * @throws AppError wrong_code, too_many_attempts, validation_failed, overloaded
   */
  async confirm(data: VerifyEmailData, origin: Origin, callerId: string | undefined): Promise<ConfirmedData> {
    const { database, devices, hasher, throttle } = this.#options
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
    // A wrong code is not thrown in the transaction: the count of tries must stay.
    const confirmed = await database.transaction(async (tx) => {
      const row = await findUserByEmail(tx, email)
      const judged = row === undefined ? 'none' : await this.#options.codes.use(tx, row.id, otp, isFromSignUpNetwork)
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

  /** Mails a new code when there is somebody to mail it to; the caller never learns whether. */
  async resend(address: string, origin: Origin): Promise<void> {
    const data = { email: normalizeEmail(address), network: networkOf(origin.remoteAddress) }
    await this.#options.jobs.add(this.#options.database, mailCode, data, { key: `${data.email} ${data.network}` })
  }

  /** The job behind `resend`. @param network of the one who asked */
  async mailCode(tx: Transaction, email: string, network: string): Promise<void> {
    const { codes, mailLimits } = this.#options
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
    const { coordination, postman, publicUrl, resets, sessions, users } = this.#options
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
    await this.#options.mailLimits.count(tx, { kind, to })
    await this.#options.postman.post(tx, verificationMail({ email: to }, code))
  }

  async #isFromSignUpNetwork(sql: Sql, userId: string | undefined, origin: Origin): Promise<boolean> {
    // Asked for addresses without an account too, which then takes as long.
    const signUp = await findSignUp(sql, userId ?? NOBODY)
    return signUp?.network === networkOf(origin.remoteAddress)
  }

  async #isSameClient(sql: Sql, userId: string, { remoteAddress, userAgent }: Origin): Promise<boolean> {
    const signUp = await findSignUp(sql, userId)
    return (
      signUp !== undefined &&
      signUp.network === networkOf(remoteAddress) &&
      signUp.userAgent === userAgent &&
      this.#options.clock.now() - Date.parse(signUp.createdAt) <= SAME_CLIENT_MS
    )
  }

  #now(): Date {
    return new Date(this.#options.clock.now())
  }
}

function findSignUp(sql: Sql, userId: string) {
  return pendingSignUps.first(sql, { userId })
}
