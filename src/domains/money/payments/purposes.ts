import type { Sql, Transaction } from '../../../core/sql.ts'
import type { Line } from '../ledger/index.ts'
import { PurposeUnavailable } from './errors.ts'

/** An amount in minor units, such as cents, of an ISO 4217 currency. */
export interface Money {
  readonly amount: number
  readonly currency: string
}

export const PURPOSES = ['subscription', 'credits', 'wallet'] as const
export type PurposeKind = (typeof PURPOSES)[number]

/** What a payer asks to pay for. Each purpose takes its own fields and refuses the others. */
export type PurposeInput = Readonly<Record<string, unknown>>

export interface PurposeRequest {
  readonly userId: string
  readonly input: PurposeInput
  /** When the request was made, in milliseconds since the epoch. */
  readonly at: number
  /** The language tag of the payer, such as `de-AT`, for `description`. */
  readonly language: string
}

/** The price of what a payer asks for. It is kept with the payment and never computed again. */
export interface PurposeQuote {
  /** What the payer pays, tax included. More than 0. */
  readonly total: Money
  /** One line for the payer's list of transactions, such as `Pro, one month`, in the payer's language. */
  readonly description: string
  /**
   * Where the money goes: positive amounts that add up to `total`, such as revenue and tax. The settlement posts them
   * against the account of the gateway.
   */
  readonly credits: readonly Line[]
  /** Plain JSON that `settle` gets back, such as the lines of the quote. */
  readonly details: Readonly<Record<string, unknown>>
  /**
   * A coupon that others wait for is held for this payment until then, in milliseconds since the epoch. The payment
   * expires by then.
   */
  readonly couponHeldUntil?: number | null
}

/** A payment, as its purpose sees it. */
export interface PurposePayment {
  readonly id: string
  readonly userId: string
  readonly reference: string
  readonly gateway: string
  readonly total: Money
  readonly input: PurposeInput
  readonly details: Readonly<Record<string, unknown>>
}

/** Money that went back to the payer. */
export interface PurposeRefund {
  readonly id: string
  readonly amount: number
  /** Everything that was refunded, with this refund. */
  readonly refundedAmount: number
  readonly reason: string
}

/**
 * What payments are made for. The domain that sells it registers it. All methods run in the transaction of the caller,
 * which has locked the user's subscription (`plans.lockLimitsOf`), and must not call other systems.
 */
export interface Purpose {
  /**
   * The price, and what the settlement does.
   * @throws AppError for input that cannot be bought
   */
  quote(sql: Sql, request: PurposeRequest): Promise<PurposeQuote>
  /**
   * Grants what was paid. Runs once for each payment, in the transaction that moves it to `succeeded` and posts it to
   * the ledger.
   * @returns false when it cannot be granted any more, because things have changed since the quote. The money then goes
   *   to the payer's wallet, and nothing may have been written.
   */
  settle(tx: Transaction, payment: PurposePayment): Promise<boolean>
  /** The payment ended without money. Runs once, in the transaction that records it. */
  failed?(tx: Transaction, payment: PurposePayment): Promise<void>
  /** Money was paid back. Runs once for each refund, in the transaction that records it. */
  refunded?(tx: Transaction, payment: PurposePayment, refund: PurposeRefund): Promise<void>
}

/** The purposes that domains have registered. */
export class Purposes {
  readonly #purposes = new Map<PurposeKind, Purpose>()

  /** @throws Error when the purpose is registered already */
  register(kind: PurposeKind, purpose: Purpose): void {
    if (this.#purposes.has(kind)) throw new Error(`the purpose ${kind} is registered twice`)
    this.#purposes.set(kind, purpose)
  }

  find(kind: PurposeKind): Purpose | undefined {
    return this.#purposes.get(kind)
  }

  /** @throws AppError purpose_unavailable when this server sells nothing of this kind */
  get(kind: PurposeKind): Purpose {
    const purpose = this.find(kind)
    if (purpose !== undefined) return purpose
    throw PurposeUnavailable()
  }
}

/**
 * Checks a quote of a purpose.
 * @throws Error when its parts do not add up, which is a bug of the purpose
 */
export function checkQuote({ credits, total }: PurposeQuote): void {
  const sum = credits.reduce((before, { amount }) => before + amount, 0)
  const isWhole = [total.amount, ...credits.map(({ amount }) => amount)].every(Number.isSafeInteger)
  const isPositive = total.amount > 0 && credits.every(({ amount }) => amount >= 0)
  const isOneUnit = credits.every(({ account }) => account.unit === total.currency)
  if (isWhole && isPositive && isOneUnit && sum === total.amount) return
  throw new Error(`a quote of ${total.amount} ${total.currency} has parts of ${sum}`)
}
