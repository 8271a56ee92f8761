import type { Caller } from '../../../core/caller.ts'
import { MINUTE } from '../../../core/clock.ts'
import { InvalidCredential } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { atLeast } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { findUser, markCredentialsChanged } from '../users/index.ts'
import { FreshLoginNeeded, WrongPassword } from './errors.ts'
import type { PasswordHasher } from './passwords.ts'
import type { SecondFactorCodes } from './second-factor/codes.ts'
import { WrongSecondFactor } from './second-factor/errors.ts'
import type { Sessions } from './sessions.ts'
import { apiKeys, passwordResets, sessions } from './tables.ts'
import type { AttemptThrottle } from './throttle.ts'

/** How long a login counts as fresh. */
const FRESH_MS = 10 * MINUTE

type Dependencies = Pick<Foundation, 'clock' | 'database'> & {
  readonly codes: SecondFactorCodes
  readonly hasher: PasswordHasher
  readonly sessions: Sessions
  readonly throttle: AttemptThrottle
}

/** Asks callers to prove again who they are, before they do what a stolen session must not do. */
export class Reauthentication {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * A fresh login has already passed the second factor. A caller who sends the password must also send a code if the
   * account has a second factor.
   * @param proof without a password, the caller relies on a fresh login
   * @throws AppError wrong_password, fresh_login_needed, wrong_second_factor, too_many_attempts
   */
  async require(caller: Caller, { code, password }: { code?: string; password?: string }): Promise<void> {
    await this.#requireFirst(caller, password)
    if (password !== undefined) await this.#requireSecond(caller, code)
  }

  async #requireSecond({ email, userId }: Caller, code: string | undefined): Promise<void> {
    const { codes, database } = this.#dependencies
    if (!(await codes.isOn(database, userId))) return
    if (code === undefined)
      throw WrongSecondFactor({
        message: 'The account has a second factor. Send a code from the authenticator app in `code` too.',
      })
    await codes.attempt({ email, source: `network ${userId}` }, () =>
      database.transaction((tx) => codes.use(tx, userId, code)),
    )
  }

  async #requireFirst({ sessionId, userId }: Caller, password: string | undefined): Promise<void> {
    const { clock, database, hasher, throttle } = this.#dependencies
    if (password === undefined) {
      const since = atLeast(new Date(clock.now() - FRESH_MS))
      const isFresh =
        sessionId !== undefined && (await sessions.exists(database, { id: sessionId, userId, createdAt: since }))
      if (!isFresh) throw FreshLoginNeeded()
      return
    }
    const user = await findUser(database, userId, { columns: ['email', 'passwordHash'] })
    if (user === undefined) throw InvalidCredential()
    // Counted per caller, so that a stolen session cannot lock the address for logins.
    const source = `network ${userId}` as const
    await throttle.begin('password', user.email, source)
    hasher.admit()
    if (!(await hasher.verify(user.passwordHash, password))) throw WrongPassword()
    await throttle.clear('password', user.email, [source])
  }

  /** Ends all sessions of a user and deletes their API keys. */
  async endAccess(tx: Sql, userId: string): Promise<void> {
    const { clock, sessions: ended } = this.#dependencies
    await ended.revokeAll(tx, userId, 'logout')
    await apiKeys.delete(tx, { userId })
    await passwordResets.delete(tx, { userId })
    await markCredentialsChanged(tx, userId, new Date(clock.now()))
  }
}
