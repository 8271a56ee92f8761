import type { Clock } from '../../../core/clock.ts'
import type { AppError } from '../../../core/error.ts'
import type { Sql } from '../../../core/sql.ts'
import { findUser } from '../../identity/users/index.ts'
import { TrialUsed, type SubscriptionRow } from '../plans/index.ts'
import { personOf } from './trial-person.ts'
import { trialUses } from './tables.ts'
import { keyFor, type Key } from '../../../tools/keys.ts'

type Known = 'email' | 'card'

const MESSAGES: Readonly<Record<Known, string>> = {
  email: 'Your address was used for the free trial of another account. Use POST /api/billing/upgrade.',
  card: 'This card was used for the free trial of another account. Pay for the plan now, or use another card.',
}

/** What a payment method says about its owner. */
interface Card {
  readonly gateway: string
  /** The same for the same card, whoever uses it. Null if the gateway does not say. */
  readonly fingerprint: string | null
}

/**
 * Who has had a free trial: one for a person and a card. Only digests are stored. They outlive the account, so that it
 * cannot be deleted for another trial.
 */
export class Trials {
  readonly #clock: Clock
  readonly #key: Key

  /** @param secret the installation's secret. With another one, earlier trials are not recognized */
  constructor(clock: Clock, secret: string) {
    this.#clock = clock
    this.#key = keyFor(secret, 'trials')
  }

  /**
   * Records that a user begins a trial.
   * @param cards those that the user has saved
   * @throws AppError trial_used
   */
  async begin(sql: Sql, userId: string, cards: readonly Card[]): Promise<void> {
    const user = await findUser(sql, userId, { columns: ['email'] })
    if (user === undefined) throw new Error(`there is no user ${userId}`)
    if (!(await this.#claim(sql, userId, 'email', personOf(user.email)))) throw used('email')
    for (const card of cards) if (!(await this.#claimCard(sql, userId, card))) throw used('card')
  }

  /**
   * Records a card of a user who has had a trial, or has one.
   * @param row the subscription, locked
   * @returns why it cannot be saved: the trial runs, and the card was used for that of another account
   */
  async save(sql: Sql, row: SubscriptionRow, card: Card): Promise<AppError | undefined> {
    if (row.trialEndsAt === null) return undefined
    const isOwn = await this.#claimCard(sql, row.userId, card)
    const isRunning = row.periodEnd === row.trialEndsAt && Date.parse(row.trialEndsAt) > this.#clock.now()
    return isOwn || !isRunning ? undefined : used('card')
  }

  async #claimCard(sql: Sql, userId: string, { fingerprint, gateway }: Card): Promise<boolean> {
    return fingerprint === null || this.#claim(sql, userId, 'card', `${gateway} ${fingerprint}`)
  }

  /** @returns whether it was not another user's */
  async #claim(sql: Sql, userId: string, kind: Known, value: string): Promise<boolean> {
    const digest = this.#key.mac(`${kind} ${value}`)
    const createdAt = new Date(this.#clock.now())
    await trialUses.insert(sql, { digest, userId, kind, createdAt }, { ignoreConflict: true })
    return (await trialUses.first(sql, { digest }))?.userId === userId
  }
}

function used(reason: Known): AppError {
  return TrialUsed({ message: MESSAGES[reason], details: { reason } })
}
