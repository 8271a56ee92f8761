import { AppError } from '../../../core/error.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { sha256 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import { InsufficientFunds } from '../ledger/index.ts'
import {
  AmountTooSmall,
  BillingProfileNeeded,
  PaymentDeclined,
  type Charges,
  type PaymentMethods,
  type PaymentRequest,
  type PurposePayment,
} from '../payments/index.ts'
import type { ChargeOutcome, Charger } from './charges.ts'
import type { Coupons } from './coupons.ts'
import { PaymentNeeded, PaymentUnfinished } from './errors.ts'
import type { BillingRequest, Pricing } from './pricing.ts'
import { changeOf, inputOf } from './purpose.ts'
import type { Settlement } from './settlement.ts'
import { billingCycles, type CycleRow } from './tables.ts'

/** A payment as billing reads it. */
export interface PaidTransaction extends Pick<PurposePayment, 'id' | 'userId' | 'details'> {
  readonly purpose: string
  readonly status: string
  readonly settledTo: string | null
}

interface Dependencies {
  readonly database: Database
  readonly pricing: Pricing
  readonly settlement: Settlement
  readonly coupons: Coupons
  readonly charges: Pick<Charges, 'chargeSaved' | 'payWithWallet'>
  readonly methods: Pick<PaymentMethods, 'defaultOf'>
  /** The money in a wallet. */
  readonly balanceOf: (sql: Sql, userId: string, currency: string) => Promise<number>
  readonly transactionOf: (sql: Sql, id: string) => Promise<PaidTransaction | undefined>
}

const OK: ChargeOutcome = { status: 'succeeded' }

/** Charges changes of subscriptions: the default payment method, or the wallet of customers who have none. */
export class Checkout implements Charger {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Buys a change now. The same request at the same time is one purchase: the key of its payment follows from the
   * request and the version of the subscription.
   * @param accepted the Accept-Language header, for the description of the payment
   * @throws AppError billing_profile_needed, payment_declined, payment_needed, payment_unfinished, conflict,
   *   coupon_not_valid
   */
  async buy(userId: string, request: BillingRequest, accepted?: string): Promise<void> {
    const { charges, coupons, database, methods, pricing, settlement } = this.#dependencies
    const due = await database.transaction(async (tx) => {
      const { change, row } = await pricing.price(tx, userId, request, { lock: true })
      const { currency, total: amount } = change.quote
      if (amount > 0) {
        const key = `subscription ${userId} ${row.version}.${row.failedCharges} ${sha256(JSON.stringify(request))}`
        return { key, amount, currency, hasMethod: (await methods.defaultOf(tx, userId)) !== undefined }
      }
      await coupons.hold(tx, userId, change)
      await settlement.apply(tx, userId, change, { version: row.version, paymentId: null })
      return undefined
    })
    if (due === undefined) return
    const { hasMethod, key, ...price } = due
    const payment = { userId, purpose: 'subscription' as const, input: inputOf(request), key, accepted }
    let tooSmall: AppError | undefined
    if (hasMethod) {
      try {
        const { payment: made } = await charges.chargeSaved(payment)
        if (made.status !== 'succeeded') {
          throw PaymentUnfinished({ details: { reference: made.reference, status: made.status } })
        }
        if (made.settledTo !== 'purpose') throw superseded()
        return
      } catch (error) {
        if (!isError(error, AmountTooSmall)) throw error
        tooSmall = error
      }
    }
    try {
      await charges.payWithWallet({ ...payment, key: `${key} wallet` })
    } catch (error) {
      if (!isError(error, InsufficientFunds)) throw error
      throw tooSmall ?? PaymentNeeded({ details: price, cause: error })
    }
  }

  async charge(userId: string, request: BillingRequest, key: string): Promise<ChargeOutcome> {
    const { charges, database, methods } = this.#dependencies
    const payment = { userId, purpose: 'subscription' as const, input: inputOf(request, { isAutomatic: true }), key }
    const hasMethod = (await methods.defaultOf(database, userId)) !== undefined
    try {
      if (!hasMethod) {
        await charges.payWithWallet({ ...payment, key: `${key} wallet` })
        return OK
      }
      const { payment: made } = await charges.chargeSaved(payment)
      if (made.status !== 'succeeded') return { status: 'pending' }
      return made.settledTo === 'purpose' ? OK : { status: 'superseded' }
    } catch (error) {
      if (isError(error, PaymentDeclined)) return this.#fallBack(payment, 'failed')
      if (isError(error, AmountTooSmall)) return this.#fallBack(payment, 'too_small')
      if (isError(error, BillingProfileNeeded)) return this.#unprofiled(userId, request, hasMethod)
      if (!isError(error, InsufficientFunds)) throw error
      return { status: 'unavailable' }
    }
  }

  /** Nobody is charged without knowing the tax. Who could pay is told what is missing. */
  async #unprofiled(userId: string, request: BillingRequest, hasMethod: boolean): Promise<ChargeOutcome> {
    const { balanceOf, database, pricing } = this.#dependencies
    const { change } = await pricing.price(database, userId, request)
    const { currency, total } = change.quote
    if (!hasMethod && (await balanceOf(database, userId, currency)) < total) return { status: 'unavailable' }
    return { status: 'unprofiled' }
  }

  /** When a card cannot pay, the money in the wallet does. */
  async #fallBack(
    payment: PaymentRequest & { readonly key: string },
    status: 'failed' | 'too_small',
  ): Promise<ChargeOutcome> {
    try {
      await this.#dependencies.charges.payWithWallet({ ...payment, key: `${payment.key} wallet` })
      return OK
    } catch (error) {
      // The refusal may have ended the subscription, so that there is nothing to pay any more.
      if (!isError(error, InsufficientFunds) && !isError(error, Conflict)) throw error
      return { status }
    }
  }

  /**
   * The cycles of a payment. If they are missing, although the payment has succeeded, they are added. Harmless to
   * repeat.
   * @throws AppError not_found; conflict when the payment has not paid for cycles
   */
  async cyclesOf(transactionId: string): Promise<CycleRow[]> {
    const { database, settlement, transactionOf } = this.#dependencies
    return database.transaction(async (tx) => {
      const payment = await transactionOf(tx, transactionId)
      if (payment === undefined) throw NotFound()
      const isPaid = payment.purpose === 'subscription' && payment.settledTo === 'purpose'
      if (!isPaid || payment.status !== 'succeeded') {
        throw Conflict({ message: 'This payment has not paid for cycles of a subscription.' })
      }
      await this.#dependencies.pricing.read(tx, payment.userId, { lock: true })
      const cycles = await billingCycles.find(tx, { paymentId: payment.id }, { orderBy: ['startsAt asc'] })
      if (cycles.length > 0) return cycles
      const { change, version } = changeOf(payment)
      if (!(await settlement.apply(tx, payment.userId, change, { version, paymentId: payment.id }))) {
        throw Conflict({ message: 'The subscription has changed since this payment was made.' })
      }
      return billingCycles.find(tx, { paymentId: payment.id }, { orderBy: ['startsAt asc'] })
    })
  }
}

/** Another change was settled first, so the money of this payment is in the wallet. */
function superseded(): AppError {
  return Conflict({ message: 'The subscription has changed meanwhile. The money that was charged is in your wallet.' })
}

function isError(error: unknown, { code }: { readonly code: string }): error is AppError {
  return error instanceof AppError && error.code === code
}
