import { renderSVG } from 'uqr'
import type { Caller } from '../../../../core/caller.ts'
import { MINUTE } from '../../../../core/clock.ts'
import { Conflict, NotFound } from '../../../../core/errors.ts'
import type { Static } from '../../../../core/schema.ts'
import type { Origin } from '../../../../core/workspace-logs.ts'
import type { Transaction } from '../../../../db/database.ts'
import { not } from '../../../../db/condition.ts'
import type { Postman } from '../../../../mail/postman.ts'
import { securityMail, type SecurityEvent } from '../../../../mail/templates.ts'
import type { Foundation } from '../../../../foundation.ts'
import { announceCredentials, findUser, markCredentialsChanged, type UserRow } from '../../users/index.ts'
import type { ApiKeyService } from '../api-keys/service.ts'
import type { Reauthentication } from '../reauthentication.ts'
import type { Sessions } from '../sessions.ts'
import type { SecondFactorCodes } from './codes.ts'
import { WrongSecondFactor } from './errors.ts'
import type { EnrolmentView, ProofData, SecondFactorView } from './schemas.ts'
import { recoveryCodes, totps } from './tables.ts'
import { newTotpSecret, totpUri } from './totp.ts'

/** How long an enrolment waits for its first code. */
const ENROLMENT_MS = 10 * MINUTE

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'log' | 'logs'> & {
  readonly apiKeys: ApiKeyService
  readonly codes: SecondFactorCodes
  readonly postman: Postman
  readonly reauthentication: Reauthentication
  readonly sessions: Sessions
}

/** The authenticator app and the recovery codes of users. Each change is reported to the owner by mail. */
export class SecondFactors {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  async get({ userId }: Caller): Promise<Static<typeof SecondFactorView>> {
    const { database } = this.#dependencies
    const app = await totps.first(database, { userId, confirmedAt: not(null) }, { columns: ['confirmedAt'] })
    const recoveryCodesLeft = await recoveryCodes.count(database, { userId })
    return { enabled: app !== undefined, enabledAt: app?.confirmedAt ?? null, recoveryCodesLeft }
  }

  /**
   * Makes a new secret. Sign-ins need it once it is confirmed. A secret that was not confirmed is replaced.
   * @throws AppError conflict if the second factor is on; the errors of `Reauthentication.require`
   */
  async enrol(caller: Caller, proof: ProofData): Promise<Static<typeof EnrolmentView>> {
    const { clock, codes, database, reauthentication } = this.#dependencies
    await reauthentication.require(caller, proof)
    const { userId } = caller
    const user = await this.#user(database, userId)
    const secret = newTotpSecret()
    const enrolledAt = this.#now()
    await database.transaction(async (tx) => {
      // The lock makes a concurrent confirmation wait, which must not be undone.
      await findUser(tx, userId, { columns: ['id'], lock: 'for no key update' })
      if (await codes.isOn(tx, userId))
        throw Conflict({
          message:
            'The second factor is already on. To use another app, switch it off first with DELETE /api/auth/totp.',
        })
      const row = { userId, secretSealed: codes.seal(secret), enrolledAt, confirmedAt: null, lastStep: 0 }
      await totps.upsert(tx, row, ['userId'])
    })
    const uri = totpUri(secret, user.email)
    const qrCode = `data:image/svg+xml;base64,${Buffer.from(renderSVG(uri)).toString('base64')}`
    return { secret, uri, qrCode, expiresAt: new Date(clock.now() + ENROLMENT_MS).toISOString() }
  }

  /**
   * Turns the second factor on and ends all other sessions, which were started without it.
   * @returns the recovery codes, which are shown once
   * @throws AppError conflict without an enrolment, wrong_second_factor, too_many_attempts
   */
  async confirm(caller: Caller, code: string): Promise<{ recoveryCodes: string[] }> {
    const { codes, database, sessions } = this.#dependencies
    const { sessionId, userId } = caller
    const { email } = await this.#user(database, userId)
    return codes.attempt({ email, source: `network ${userId}` }, () =>
      database.transaction(async (tx) => {
        const user = await findUser(tx, userId, { lock: 'for no key update' })
        const pending = await totps.first(tx, { userId, confirmedAt: null }, { columns: ['enrolledAt'] })
        const now = this.#now()
        if (user === undefined || pending === undefined || isOver(pending.enrolledAt, now)) {
          throw Conflict({
            message:
              'No authenticator app is waiting to be confirmed, or its secret has expired. Get a new secret with POST /api/auth/totp.',
          })
        }
        if (!(await codes.useFirst(tx, userId, code))) throw WrongSecondFactor()
        await totps.update(tx, { userId }, { confirmedAt: now })
        await sessions.revokeOthers(tx, userId, sessionId, 'second_factor')
        await this.#changed(tx, user, { kind: 'second_factor_on' })
        return { recoveryCodes: await codes.renewRecoveryCodes(tx, userId) }
      }),
    )
  }

  /** @throws AppError conflict if it is off; the errors of `Reauthentication.require` */
  async disable(caller: Caller, proof: ProofData): Promise<void> {
    const { codes } = this.#dependencies
    await this.#change(caller, proof, { kind: 'second_factor_off' }, (tx) => codes.remove(tx, caller.userId))
  }

  /**
   * Replaces the recovery codes; the earlier ones stop working.
   * @throws AppError conflict if the second factor is off; the errors of `Reauthentication.require`
   */
  async renewRecoveryCodes(caller: Caller, proof: ProofData): Promise<{ recoveryCodes: string[] }> {
    const { codes } = this.#dependencies
    return this.#change(caller, proof, { kind: 'recovery_codes_renewed' }, async (tx) => ({
      recoveryCodes: await codes.renewRecoveryCodes(tx, caller.userId),
    }))
  }

  /**
   * Turns off the second factor of a person who has lost it, by an administrator. Each of their workspaces gets an audit
   * entry.
   * @throws AppError not_found, conflict if it is off
   */
  async reset(caller: Caller, userId: string, reason: string, origin: Origin): Promise<void> {
    const { apiKeys, codes, database, log, logs } = this.#dependencies
    await database.transaction(async (tx) => {
      const user = await findUser(tx, userId, { lock: 'for no key update' })
      if (user === undefined) throw NotFound()
      if (!(await codes.isOn(tx, userId))) throw isOff()
      await codes.remove(tx, userId)
      for (const workspaceId of await apiKeys.workspaceIds.get()(tx, userId)) {
        const target = { kind: 'user', id: userId }
        const entry = { caller, action: 'resetSecondFactor', target, details: { reason }, at: this.#now(), origin }
        await logs.recordAudit(tx, { workspaceId, ...entry })
      }
      await this.#changed(tx, user, { kind: 'second_factor_reset' })
    })
    log.warn({ userId, adminId: caller.userId, reason }, 'an administrator turned off the second factor of a user')
  }

  async #change<T>(
    caller: Caller,
    proof: ProofData,
    event: SecurityEvent,
    change: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    const { codes, database, reauthentication } = this.#dependencies
    const { userId } = caller
    if (!(await codes.isOn(database, userId))) throw isOff()
    await reauthentication.require(caller, proof)
    return database.transaction(async (tx) => {
      const user = await findUser(tx, userId, { lock: 'for no key update' })
      if (user === undefined || !(await codes.isOn(tx, userId))) throw isOff()
      const result = await change(tx)
      await this.#changed(tx, user, event)
      return result
    })
  }

  /** Sign-ins that wait for a second factor end with the change. */
  async #changed(tx: Transaction, user: UserRow, event: SecurityEvent): Promise<void> {
    const { coordination, postman } = this.#dependencies
    await markCredentialsChanged(tx, user.id, this.#now())
    await postman.post(tx, securityMail(user, event))
    tx.afterCommit(() => announceCredentials(coordination, { kind: 'user', userId: user.id }))
  }

  async #user(sql: Parameters<typeof findUser>[0], userId: string): Promise<UserRow> {
    const user = await findUser(sql, userId)
    if (user === undefined) throw NotFound()
    return user
  }

  #now(): Date {
    return new Date(this.#dependencies.clock.now())
  }
}

function isOver(enrolledAt: string, now: Date): boolean {
  return now.getTime() - Date.parse(enrolledAt) > ENROLMENT_MS
}

function isOff() {
  return Conflict({
    message: 'The second factor is off, so there is nothing to change. Switch it on with POST /api/auth/totp.',
  })
}
