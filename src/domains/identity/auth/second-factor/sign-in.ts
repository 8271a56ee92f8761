import { sha256 } from '../../../../tools/id.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Postman } from '../../../../mail/postman.ts'
import { securityMail } from '../../../../mail/templates.ts'
import type { Foundation } from '../../../../foundation.ts'
import { findUser, type UserRow, type UserService } from '../../users/index.ts'
import { attemptSource } from '../attempt-source.ts'
import type { KnownDevices } from '../known-devices.ts'
import type { SignedInData } from '../schemas.ts'
import type { Origin, Sessions, TokenPair } from '../sessions.ts'
import { usedNonces } from '../tables.ts'
import type { PendingSignIn, SignInChallenges } from './challenges.ts'
import type { SecondFactorCodes, SecondFactorMethod } from './codes.ts'
import { SecondFactorRequired, SignInExpired, WrongSecondFactor } from './errors.ts'
import type { SecondFactorSignIn } from './schemas.ts'
import { recoveryCodes } from './tables.ts'

type Dependencies = Pick<Foundation, 'clock' | 'database'> & {
  readonly challenges: SignInChallenges
  readonly codes: SecondFactorCodes
  readonly devices: KnownDevices
  readonly postman: Postman
  readonly sessions: Sessions
  readonly users: UserService
}

/** What a right first factor leads to: a session, or the challenge to prove a second one. */
export type Admission =
  | { readonly pair: TokenPair }
  | { readonly challenge: string; readonly expiresAt: string; readonly pair?: never }

/** Starts the sessions of all sign-ins that prove one factor, and asks for the second one of accounts that have it. */
export class SignInGate {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Starts a session in the transaction that has proved the first factor, or makes a challenge.
   * @param method `password`, `code` or the name of a provider
   */
  async admit(tx: Sql, userId: string, method: string, origin: Origin): Promise<Admission> {
    const { challenges, codes, sessions } = this.#dependencies
    if (await codes.isOn(tx, userId)) return challenges.issue(userId, method)
    return { pair: await sessions.start(tx, userId, method, origin) }
  }

  /**
   * Completes a sign-in with the second factor.
   * @throws AppError sign_in_expired, wrong_second_factor, too_many_attempts
   */
  async complete({ challenge, code, deviceToken }: SecondFactorSignIn, origin: Origin): Promise<SignedInData> {
    const { challenges, codes, database, devices, users } = this.#dependencies
    const pending = challenges.read(challenge)
    const user = await findUser(database, pending.userId)
    if (user === undefined || hasChanged(user, pending)) throw SignInExpired()
    const source = await attemptSource(this.#dependencies, user.id, origin, deviceToken)
    const pair = await codes.attempt({ email: user.email, source }, () =>
      database.transaction(async (tx) => {
        const used = { digest: sha256(`second factor ${pending.id}`), expiresAt: new Date(pending.expiresAt) }
        if ((await usedNonces.insert(tx, used, { ignoreConflict: true })) === 0) throw SignInExpired()
        return this.#start(tx, user, pending, code, origin)
      }),
    )
    return { user: await users.viewOf(database, user), ...pair, deviceToken: devices.issue(user.id) }
  }

  async #start(tx: Sql, user: UserRow, { method }: PendingSignIn, code: string, origin: Origin): Promise<TokenPair> {
    const { codes, sessions } = this.#dependencies
    // If the second factor was removed in the meantime, no code can be right.
    if (!(await codes.isOn(tx, user.id))) throw WrongSecondFactor()
    const used = await codes.use(tx, user.id, code)
    if (used === 'recovery_code') await this.#mail(tx, user)
    return sessions.start(tx, user.id, method, origin, used satisfies SecondFactorMethod)
  }

  async #mail(tx: Sql, user: UserRow): Promise<void> {
    const left = await recoveryCodes.count(tx, { userId: user.id })
    await this.#dependencies.postman.post(tx, securityMail(user, { kind: 'recovery_code_used', left }))
  }
}

/** The tokens of a sign-in. @throws AppError second_factor_required */
export function requireAdmitted(admission: Admission): TokenPair {
  if (admission.pair !== undefined) return admission.pair
  const { challenge, expiresAt } = admission
  throw SecondFactorRequired({ details: { challenge, methods: ['totp', 'recovery_code'], expiresAt } })
}

/** Whether credentials have changed since the first factor was proved, such as the password. */
function hasChanged({ credentialsChangedAt }: UserRow, { startedAt }: PendingSignIn): boolean {
  return credentialsChangedAt !== null && Date.parse(credentialsChangedAt) > startedAt
}
