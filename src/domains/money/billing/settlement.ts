import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Transaction } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import type { PlanService } from '../plans/index.ts'
import type { Coupons } from './coupons.ts'
import { cycleFrom, type Period } from './cycles.ts'
import type { AccountFitting } from './fitting.ts'
import type { PricedChange, PricedCycle } from './priced-change.ts'
import { after } from './states.ts'
import { billingCycles } from './tables.ts'

/** Applies changes of subscriptions that are paid. */
export class Settlement {
  readonly #clock: Clock
  readonly #plans: PlanService
  readonly #coupons: Coupons
  readonly #fitting: AccountFitting

  constructor(clock: Clock, plans: PlanService, coupons: Coupons, fitting: AccountFitting) {
    this.#clock = clock
    this.#plans = plans
    this.#coupons = coupons
    this.#fitting = fitting
  }

  /**
   * Applies a change in the transaction that settles its payment: cycles, plan and limits. The limits are valid on all
   * nodes as soon as it has committed.
   * @param version the subscription's version for which the change was priced
   * @param paymentId null when nothing was to pay
   * @returns false if the subscription has changed since, so that the change no longer fits it
   */
  async apply(
    tx: Transaction,
    userId: string,
    change: PricedChange,
    { paymentId, version }: { readonly version: number; readonly paymentId: string | null },
  ): Promise<boolean> {
    const row = await this.#plans.subscription(tx, userId, { lock: true })
    const status = after(row.status, change.event)
    if (row.version !== version || status === undefined) return false
    const now = this.#clock.now()
    const periods = change.cycles.map((cycle) => periodOf(cycle, now))
    await this.#end(tx, userId, change, now)
    await billingCycles.insertAll(
      tx,
      change.cycles.map((cycle, index) => ({
        id: uuidv7(now),
        userId,
        kind: 'paid' as const,
        plan: cycle.plan,
        term: cycle.term,
        extraAccounts: cycle.extraAccounts,
        ...rangeOf(periods[index]),
        replacedAt: null,
        net: cycle.net,
        discount: cycle.discount,
        currency: change.quote.currency,
        couponId: cycle.couponId,
        paymentId,
        quote: change.quote,
        createdAt: new Date(now),
        updatedAt: new Date(now),
      })),
    )
    const end = new Date(periods.at(-1)?.end ?? now)
    const isMidCycle = change.event === 'changed'
    const isAhead = isMidCycle || (periods[0]?.start ?? now) > now
    const removed = Math.max(0, row.extraAccounts - change.extraAccounts)
    await this.#plans.update(tx, userId, {
      status,
      plan: change.plan,
      // A renewal does not choose the term: the customer may have chosen another one meanwhile.
      term: change.event === 'started' ? change.term : row.term,
      extraAccounts: change.extraAccounts,
      anchorAt: new Date(change.anchor ?? now),
      periodStart: isAhead ? (row.periodStart ?? undefined) : new Date(periods[0]?.start ?? now),
      periodEnd: end,
      dueAt: end,
      remindAt: null,
      failedSince: null,
      // What was planned for the end of the cycle is done, or a larger plan has replaced it.
      nextPlan: change.event === 'renewed' && row.nextPlan !== change.plan ? row.nextPlan : null,
      keepAccountIds: null,
      extraRemoval: isMidCycle ? row.extraRemoval : Math.max(0, row.extraRemoval - removed),
      version: row.version + 1,
    })
    await this.#coupons.use(tx, userId, change)
    await this.#fitting.after(tx, row, change)
    tx.afterCommit(() => this.#plans.changed(userId))
    return true
  }

  /** Ends the cycles that the change replaces; a trial ends with the first paid cycle. */
  async #end(tx: Transaction, userId: string, { event, replaces }: PricedChange, now: number): Promise<void> {
    const ended = { replacedAt: new Date(now), updatedAt: new Date(now) }
    if (replaces.length > 0) await billingCycles.update(tx, { id: anyOf(replaces) }, ended)
    if (event === 'started') await billingCycles.update(tx, { userId, kind: 'trial', replacedAt: null }, ended)
  }
}

function periodOf({ period, term }: PricedCycle, now: number): Period {
  return period ?? cycleFrom(now, now, term)
}

function rangeOf(period: Period | undefined): { startsAt: Date; endsAt: Date } {
  if (period === undefined) throw new Error('a cycle without a period')
  return { startsAt: new Date(period.start), endsAt: new Date(period.end) }
}
