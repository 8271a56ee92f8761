import { HOUR, type Clock } from '../../../core/clock.ts'
import type { Jobs } from '../../../core/job.ts'
import type { Logger } from '../../../core/log.ts'
import type { Transaction } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import type { BillingProfiles } from '../invoices/index.ts'
import type { PlanService, SubscriptionRow } from '../plans/index.ts'
import type { Charger } from './charges.ts'
import { notifyIn } from '../../talk/notifications/index.ts'
import { planTitle } from './descriptions.ts'
import { chargeFailed, planEnded, trialEnding, type FailureReason } from './notifications.ts'
import { waived } from './priced-change.ts'
import type { BillingRequest, Pricing } from './pricing.ts'
import type { Settlement } from './settlement.ts'
import { after, nextCharge } from './states.ts'

/** How long to wait for a payment whose outcome is not known yet. */
const PENDING_MS = HOUR

/** How long a subscription waits that could not be advanced. */
const STUCK_MS = HOUR

const RENEWAL: BillingRequest = { kind: 'renewal', terms: 1 }

export interface RenewalsOptions {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly jobs: Jobs
  readonly plans: PlanService
  readonly pricing: Pricing
  readonly settlement: Settlement
  readonly charger: Charger
  readonly profiles: Pick<BillingProfiles, 'missing'>
}

/**
 * What happens to subscriptions by time: the reminder of a trial, the renewal, repeated charges, and the end. `dueAt` of
 * a subscription is the next of these moments.
 *
 * A renewal is charged once, however many nodes run it: its payment has a key that follows from the subscription, its
 * settlement applies only to the version of the subscription that it was priced for, and a cycle with the same start
 * cannot be added twice.
 */
export class Renewals {
  readonly #options: RenewalsOptions

  constructor(options: RenewalsOptions) {
    this.#options = options
  }

  /** Does what is due for a user. Harmless to repeat. */
  async advance(userId: string): Promise<void> {
    const { charger, database, log } = this.#options
    const due = await database.transaction((tx) => this.#begin(tx, userId))
    if (due === undefined) return
    const outcome = await charger.charge(userId, RENEWAL, due.key)
    log.info({ userId, status: outcome.status }, 'a renewal was charged')
    // A trial without any means to pay simply ends.
    if (outcome.status === 'failed' || outcome.status === 'unprofiled') {
      const reason = outcome.status === 'failed' ? 'declined' : 'address'
      await database.transaction((tx) => this.#declined(tx, userId, due.version, reason))
    } else if (outcome.status === 'unavailable') {
      await database.transaction((tx) =>
        due.isTrial ? this.expire(tx, userId, due.version) : this.failed(tx, userId, due.version, 'money'),
      )
    } else if (outcome.status === 'too_small') {
      await database.transaction((tx) => this.#waive(tx, userId, due.version))
    } else if (outcome.status === 'pending') {
      await database.transaction((tx) => this.#wait(tx, userId, due.version))
    }
  }

  /** Lets a subscription that could not be advanced wait, so that those after it get their turn. */
  async postpone(userId: string): Promise<void> {
    const { clock, database, plans } = this.#options
    await database.transaction(async (tx) => {
      const { dueAt } = await plans.subscription(tx, userId, { lock: true })
      if (dueAt === null || Date.parse(dueAt) > clock.now()) return
      await plans.update(tx, userId, { dueAt: new Date(clock.now() + STUCK_MS) })
    })
  }

  /**
   * A charge of the cycle that is due has failed, in the transaction that records it. It is repeated after some days, and
   * the subscription ends after the last time.
   */
  async failed(tx: Transaction, userId: string, version: number, reason: FailureReason): Promise<void> {
    const { clock, plans } = this.#options
    const row = await plans.subscription(tx, userId, { lock: true })
    const now = clock.now()
    if (row.version !== version || row.periodEnd === null || Date.parse(row.periodEnd) > now) return
    const status = after(row.status, 'charge_failed')
    if (status === undefined) return
    const failedSince = row.failedSince === null ? now : Date.parse(row.failedSince)
    const next = nextCharge(failedSince, now)
    if (next === undefined) {
      await this.expire(tx, userId)
      return
    }
    const failedAt = new Date(failedSince)
    await plans.update(tx, userId, { status, failedSince: failedAt, dueAt: new Date(next), remindAt: null })
    tx.afterCommit(() => plans.changed(userId))
    const data = { plan: planTitle(row.plan), reason, day: new Date(next).toISOString() }
    await notifyIn(this.#options.jobs, tx, chargeFailed, { to: [userId], data })
  }

  /**
   * Ends a subscription: the plan that costs nothing applies. Nothing is deleted.
   * @param version only if the subscription has not changed since
   */
  async expire(tx: Transaction, userId: string, version?: number): Promise<void> {
    const { plans } = this.#options
    const row = await plans.subscription(tx, userId, { lock: true })
    if (row.periodEnd === null || (version !== undefined && row.version !== version)) return
    await plans.update(tx, userId, {
      status: 'expired',
      plan: plans.basePlan,
      periodStart: null,
      periodEnd: null,
      dueAt: null,
      remindAt: null,
      failedSince: null,
      nextPlan: null,
      keepAccountIds: null,
      extraAccounts: 0,
      extraRemoval: 0,
      version: row.version + 1,
    })
    tx.afterCommit(() => plans.changed(userId))
    const data = { plan: planTitle(row.plan), base: planTitle(plans.basePlan) }
    await notifyIn(this.#options.jobs, tx, planEnded, { to: [userId], data })
  }

  /** @returns what to charge, if anything */
  async #begin(
    tx: Transaction,
    userId: string,
  ): Promise<{ key: string; version: number; isTrial: boolean } | undefined> {
    const { clock, plans, pricing, settlement } = this.#options
    const row = await plans.subscription(tx, userId, { lock: true })
    const now = clock.now()
    if (row.dueAt === null || row.periodEnd === null || Date.parse(row.dueAt) > now) return undefined
    if (Date.parse(row.periodEnd) > now) {
      await this.#remind(tx, row)
      return undefined
    }
    if (row.status === 'cancelled') {
      await this.expire(tx, userId)
      return undefined
    }
    const { change } = await pricing.price(tx, userId, RENEWAL, { lock: true })
    if (change.quote.total > 0) {
      return { key: renewalKey(row), version: row.version, isTrial: row.status === 'trialing' }
    }
    await settlement.apply(tx, userId, change, { version: row.version, paymentId: null })
    return undefined
  }

  /**
   * Records that both the card and the wallet have failed to pay. A failed card payment has already recorded it, unless
   * the wallet had enough money at that moment.
   */
  async #declined(tx: Transaction, userId: string, version: number, reason: FailureReason): Promise<void> {
    const { clock, plans } = this.#options
    const { dueAt } = await plans.subscription(tx, userId, { lock: true })
    if (dueAt !== null && Date.parse(dueAt) <= clock.now()) await this.failed(tx, userId, version, reason)
  }

  /** Renews without a charge, because the amount is below what the gateway takes. The cycle's quote says so. */
  async #waive(tx: Transaction, userId: string, version: number): Promise<void> {
    const { log, pricing, settlement } = this.#options
    const { change, row } = await pricing.price(tx, userId, RENEWAL, { lock: true })
    if (row.version !== version) return
    log.info({ userId, amount: change.quote.total }, 'a renewal below the smallest charge is free')
    await settlement.apply(tx, userId, waived(change), { version, paymentId: null })
  }

  async #remind(tx: Transaction, row: SubscriptionRow): Promise<void> {
    const { plans, profiles } = this.#options
    const end = Date.parse(row.periodEnd ?? '')
    await plans.update(tx, row.userId, { remindAt: null, dueAt: new Date(end) })
    if (row.status !== 'trialing') return
    const missing = await profiles.missing(tx, row.userId)
    const address = missing.length === 0 ? 'known' : 'missing'
    const data = { plan: planTitle(row.plan), day: new Date(end).toISOString(), address }
    await notifyIn(this.#options.jobs, tx, trialEnding, { to: [row.userId], data })
  }

  async #wait(tx: Transaction, userId: string, version: number): Promise<void> {
    const { clock, plans } = this.#options
    const row = await plans.subscription(tx, userId, { lock: true })
    if (row.version !== version || row.dueAt === null || Date.parse(row.dueAt) > clock.now()) return
    await plans.update(tx, userId, { dueAt: new Date(clock.now() + PENDING_MS) })
  }
}

/** Names the payment of a renewal. A failed payment is followed by another one. */
function renewalKey({ failedCharges, userId, version }: SubscriptionRow): string {
  return `subscription ${userId} ${version}.${failedCharges} renewal`
}
