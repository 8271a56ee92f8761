import { AppError } from '../../../core/error.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import { PLAN_NAMES } from '../../identity/users/index.ts'
import { languageOf, type BillingProfiles, type Invoices } from '../invoices/index.ts'
import { houseAccount } from '../ledger/index.ts'
import type {
  Purpose,
  PurposeInput,
  PurposePayment,
  PurposeQuote,
  PurposeRefund,
  PurposeRequest,
} from '../payments/index.ts'
import { TERMS, type PlanService } from '../plans/index.ts'
import type { Coupons } from './coupons.ts'
import { quoteLineText } from './descriptions.ts'
import { CouponNotValid } from './errors.ts'
import type { PricedChange } from './priced-change.ts'
import type { BillingRequest, Pricing } from './pricing.ts'
import type { Renewals } from './renewals.ts'
import { invoiceLines, paidThrough } from './invoice-lines.ts'
import type { Settlement } from './settlement.ts'
import { billingCycles } from './tables.ts'

/** What is kept with a payment for a subscription. */
interface Details {
  readonly change: PricedChange
  /** The version of the subscription that it was priced for. */
  readonly version: number
  /** Charged by schedule, without the customer. */
  readonly isAutomatic: boolean
}

interface Dependencies {
  readonly plans: PlanService
  readonly pricing: Pricing
  readonly settlement: Settlement
  readonly coupons: Coupons
  readonly renewals: Renewals
  readonly invoices: Invoices
  readonly profiles: Pick<BillingProfiles, 'require'>
  /** The money in a wallet. */
  readonly balanceOf: (sql: Sql, userId: string, currency: string) => Promise<number>
}

/** The input of a payment that the service makes. Customers cannot send it: their input has no such fields. */
export function inputOf(request: BillingRequest, { isAutomatic = false } = {}): PurposeInput {
  return { request, isAutomatic }
}

/** The change that a payment pays for, and the version of the subscription that it was priced for. */
export function changeOf({ details }: Pick<PurposePayment, 'details'>): Pick<Details, 'change' | 'version'> {
  return details as unknown as Details
}

/** Payments for subscriptions: what they cost, and what they change once they have succeeded. */
export class SubscriptionPurpose implements Purpose {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  async quote(sql: Sql, { input, language, userId }: PurposeRequest): Promise<PurposeQuote> {
    const { coupons, pricing, profiles } = this.#dependencies
    const request = await this.#requestOf(sql, userId, input)
    const isOwn = input['request'] !== undefined
    const { change, row } = await refusedInBody(isOwn, () => pricing.price(sql, userId, request, { lock: true }))
    const { currency, lines, net, tax, total } = change.quote
    if (total === 0) {
      const message = 'costs nothing now. Use POST /api/billing/upgrade.'
      throw ValidationFailed({ errors: [{ path: '/body/planName', code: 'free', message }] })
    }
    await profiles.require(sql, userId)
    const couponHeldUntil = await refusedInBody(isOwn, () => coupons.hold(sql, userId, change))
    const details: Details = { change, version: row.version, isAutomatic: input['isAutomatic'] === true }
    const [first] = lines
    return {
      total: { amount: total, currency },
      description: first === undefined ? '' : quoteLineText(first, languageOf(language)),
      credits: [
        { account: houseAccount('revenue', currency), amount: net },
        { account: houseAccount('tax', currency), amount: tax },
      ],
      details: { ...details },
      couponHeldUntil,
    }
  }

  async settle(tx: Transaction, payment: PurposePayment): Promise<boolean> {
    const { coupons, invoices, settlement } = this.#dependencies
    const { gateway, id: paymentId, total, userId } = payment
    const { change, version } = changeOf(payment)
    const isApplied = await settlement.apply(tx, userId, change, { version, paymentId })
    if (!isApplied) {
      await coupons.release(tx, userId, change)
      return false
    }
    const cycles = await billingCycles.find(tx, { paymentId }, { orderBy: ['startsAt asc'] })
    const periods = cycles.map(({ endsAt, startsAt }) => ({ start: Date.parse(startsAt), end: Date.parse(endsAt) }))
    const lines = invoiceLines(change.quote, periods)
    const { taxes } = change.quote
    const paidBy = paidThrough(gateway)
    await invoices.issue(tx, {
      userId,
      paymentId,
      currency: total.currency,
      total: total.amount,
      lines,
      taxes,
      paidBy,
    })
    return true
  }

  async failed(tx: Transaction, payment: PurposePayment): Promise<void> {
    const { coupons, plans, renewals } = this.#dependencies
    const { userId } = payment
    const { change, isAutomatic, version } = payment.details as unknown as Details
    await coupons.release(tx, userId, change)
    const { failedCharges } = await plans.subscription(tx, userId, { lock: true })
    await plans.update(tx, userId, { failedCharges: failedCharges + 1 })
    if (!isAutomatic) return
    // The next charge takes the money in the wallet. It follows at once, or with the next run of the schedule.
    const { amount, currency } = payment.total
    const isCovered =
      payment.gateway !== 'wallet' && (await this.#dependencies.balanceOf(tx, userId, currency)) >= amount
    if (!isCovered) await renewals.failed(tx, userId, version, 'declined')
  }

  /** A refund gives money back. It does not change the plan. */
  async refunded(tx: Transaction, { id: paymentId }: PurposePayment, refund: PurposeRefund): Promise<void> {
    const { amount, id: refundId, reason } = refund
    await this.#dependencies.invoices.credit(tx, { paymentId, refundId, amount, reason })
  }

  /** What a customer asks for, or the service itself. A customer who is overdue pays the cycle that is due. */
  async #requestOf(sql: Sql, userId: string, input: PurposeInput): Promise<BillingRequest> {
    if (input['request'] !== undefined) return input['request'] as BillingRequest
    const { couponCode: code, extraAccounts, planName, term, ...others } = input
    const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
    if (other !== undefined) {
      const message = 'is not a field of a payment for a subscription'
      throw ValidationFailed({ errors: [{ path: `/body/${other}`, code: 'unknown', message }] })
    }
    const couponCode = typeof code === 'string' ? code : undefined
    const { standing } = await this.#dependencies.pricing.read(sql, userId, { lock: true })
    if (standing.status === 'past_due') return { kind: 'renewal', terms: 1, couponCode }
    return {
      kind: 'upgrade',
      planName: PLAN_NAMES.find((name) => name === planName),
      term: TERMS.find((name) => name === term),
      extraAccounts: typeof extraAccounts === 'number' ? extraAccounts : undefined,
      couponCode,
    }
  }
}

/**
 * The operations of payments do not know coupons: one that is not valid is an invalid field there.
 * @param isOwn the operations of billing have asked
 */
async function refusedInBody<T>(isOwn: boolean, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isOwn || !(error instanceof AppError && error.code === CouponNotValid.code)) throw error
    throw ValidationFailed({
      errors: [{ path: '/body/couponCode', code: 'coupon', message: error.message }],
      cause: error,
    })
  }
}
