import type { Clock } from '../../../core/clock.ts'
import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import type { Tax } from '../invoices/index.ts'
import type { PlanService, SubscriptionRow } from '../plans/index.ts'
import type { Coupons } from './coupons.ts'
import { CURRENCY } from './currency.ts'
import { planRenewal, planUpgrade, type PlannedChange, type Standing, type UpgradeRequest } from './planned-change.ts'
import { priceOf, type PricedChange } from './priced-change.ts'
import { standingOf } from './standing.ts'
import { after } from './states.ts'
import { billingCycles, type CycleRow } from './tables.ts'

/** What a customer asks to pay for: a change for more, or further cycles. */
export type BillingRequest =
  | ({ readonly kind: 'upgrade' } & UpgradeRequest & { readonly couponCode?: string | undefined })
  | { readonly kind: 'renewal'; readonly terms: number; readonly couponCode?: string | undefined }

/** The taxes of a buyer at a moment, as a function of the net amount. */
export type TaxesOf = (sql: Sql, userId: string, at: number) => Promise<(net: number) => readonly Tax[]>

/** A subscription as it was read for a price. */
export interface Priced {
  readonly row: SubscriptionRow
  readonly standing: Standing
  readonly change: PricedChange
}

/** Finds the price of a change: of previews, and of charges. */
export class Pricing {
  readonly #clock: Clock
  readonly #plans: PlanService
  readonly #coupons: Coupons
  readonly #taxesOf: TaxesOf

  constructor(clock: Clock, plans: PlanService, coupons: Coupons, taxesOf: TaxesOf) {
    this.#clock = clock
    this.#plans = plans
    this.#coupons = coupons
    this.#taxesOf = taxesOf
  }

  /**
   * @param lock keeps the subscription as it is until the transaction ends
   * @throws AppError conflict, coupon_not_valid
   */
  async price(sql: Sql, userId: string, request: BillingRequest, { lock = false } = {}): Promise<Priced> {
    const now = this.#clock.now()
    const { row, standing } = await this.read(sql, userId, { lock })
    const planned = planOf(standing, request, now)
    // What the settlement would refuse has no price, so nobody is charged for it.
    if (after(row.status, planned.event) === undefined) {
      throw Conflict({ message: `This is not possible while the subscription is ${row.status}.` })
    }
    const coupon = await this.#coupons.appliedTo(sql, userId, planned, request.couponCode, standing)
    const taxesOn = await this.#taxesOf(sql, userId, now)
    return { row, standing, change: priceOf(planned, { coupon, currency: CURRENCY, taxesOn }) }
  }

  /** A subscription and its cycles that are not over. */
  async read(
    sql: Sql,
    userId: string,
    { lock = false } = {},
  ): Promise<{ row: SubscriptionRow; cycles: readonly CycleRow[]; standing: Standing }> {
    const now = this.#clock.now()
    const row = await this.#plans.subscription(sql, userId, { lock })
    const cycles = await billingCycles.find(
      sql,
      { userId, replacedAt: null, endsAt: greaterThan(new Date(now)) },
      { orderBy: ['startsAt asc'] },
    )
    return { row, cycles, standing: standingOf(row, cycles, now) }
  }
}

function planOf(standing: Standing, request: BillingRequest, now: number): PlannedChange {
  if (request.kind === 'renewal') return planRenewal(standing, request.terms, now)
  const { extraAccounts, planName, term } = request
  if (planName === undefined && term === undefined && extraAccounts === undefined) {
    throw ValidationFailed({
      errors: [{ path: '/body', code: 'empty', message: 'needs a planName, a term or extraAccounts' }],
    })
  }
  return planUpgrade(standing, { planName, term, extraAccounts }, now)
}
