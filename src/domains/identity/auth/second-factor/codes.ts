import type { Clock } from '../../../../core/clock.ts'
import { SealedBox } from '../../../../tools/sealed-box.ts'
import type { Sql } from '../../../../core/sql.ts'
import { lessThan, not } from '../../../../db/condition.ts'
import type { AttemptSource, AttemptThrottle } from '../throttle.ts'
import { WrongSecondFactor } from './errors.ts'
import { newRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import { recoveryCodes, totps } from './tables.ts'
import { totpStep } from './totp.ts'
import { keyFor, type Key } from '../../../../tools/keys.ts'

/** Which code was accepted. */
export type SecondFactorMethod = 'totp' | 'recovery_code'

/** The user whose code is checked, and where the attempt comes from. */
export interface Attempt {
  readonly userId: string
  readonly email: string
  readonly code: string
  readonly source: AttemptSource
}

/** Checks codes of authenticator apps and recovery codes. Each is accepted once. */
export class SecondFactorCodes {
  readonly #clock: Clock
  readonly #throttle: AttemptThrottle
  readonly #box: SealedBox
  readonly #key: Key

  constructor(clock: Clock, throttle: AttemptThrottle, secret: string) {
    this.#clock = clock
    this.#throttle = throttle
    this.#box = new SealedBox(secret, 'totp secrets')
    this.#key = keyFor(secret, 'recovery codes')
  }

  /** Whether an account asks for a second factor. */
  isOn(sql: Sql, userId: string): Promise<boolean> {
    return totps.exists(sql, { userId, confirmedAt: not(null) })
  }

  /** Seals a secret for storage. */
  seal(secret: string): string {
    return this.#box.seal(secret)
  }

  /**
   * Runs `use` as one counted attempt, which a success forgets.
   * @param use checks the code in a transaction and throws if it is wrong
   * @throws AppError too_many_attempts while codes of the account are locked for this source
   */
  async attempt<T>({ email, source }: Pick<Attempt, 'email' | 'source'>, use: () => Promise<T>): Promise<T> {
    await this.#throttle.begin('second factor', email, source)
    const result = await use()
    await this.#throttle.clear('second factor', email, [source])
    return result
  }

  /**
   * Uses up a code, in the transaction of what it permits.
   * @throws AppError wrong_second_factor
   */
  async use(tx: Sql, userId: string, code: string): Promise<SecondFactorMethod> {
    if (/^\d{3} ?\d{3}$/.test(code)) {
      if (await this.#useTotp(tx, userId, code, true)) return 'totp'
      throw WrongSecondFactor()
    }
    const codeHash = recoveryCodeHash(this.#key, userId, code)
    if ((await recoveryCodes.delete(tx, { codeHash, userId })) > 0) return 'recovery_code'
    throw WrongSecondFactor()
  }

  /** Uses up the first code of an app that is being enrolled. @returns false if it is wrong */
  useFirst(tx: Sql, userId: string, code: string): Promise<boolean> {
    return this.#useTotp(tx, userId, code, false)
  }

  /** Replaces the recovery codes of a user. @returns the codes, which are shown once */
  async renewRecoveryCodes(tx: Sql, userId: string): Promise<string[]> {
    const codes = newRecoveryCodes()
    const createdAt = new Date(this.#clock.now())
    await recoveryCodes.delete(tx, { userId })
    await recoveryCodes.insertAll(
      tx,
      codes.map((code) => ({ codeHash: recoveryCodeHash(this.#key, userId, code), userId, createdAt })),
    )
    return codes
  }

  /** Removes the app and all recovery codes. @returns whether there was an app */
  async remove(tx: Sql, userId: string): Promise<boolean> {
    await recoveryCodes.delete(tx, { userId })
    return (await totps.delete(tx, { userId })) > 0
  }

  async #useTotp(tx: Sql, userId: string, code: string, isConfirmed: boolean): Promise<boolean> {
    const app = { userId, confirmedAt: isConfirmed ? not(null) : null }
    const row = await totps.first(tx, app, { columns: ['secretSealed'] })
    const step = row && totpStep(this.#box.open(row.secretSealed), code.replace(' ', ''), this.#clock.now())
    if (step === undefined) return false
    // The condition makes one of two concurrent requests with the same code fail.
    return (await totps.update(tx, { ...app, lastStep: lessThan(step) }, { lastStep: step })) > 0
  }
}
