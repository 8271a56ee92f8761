import { ValidationFailed } from '../../../core/errors.ts'
import type { Transaction } from '../../../core/sql.ts'
import { addMonths } from '../plans/index.ts'
import type { Clock } from '../../../core/clock.ts'
import { languageOf, type BillingProfiles, type Invoices } from '../invoices/index.ts'
import { houseAccount, type Ledger } from '../ledger/index.ts'
import type { Purpose, PurposePayment, PurposeQuote, PurposeRefund, PurposeRequest } from '../payments/index.ts'
import { CURRENCY } from './currency.ts'
import type { TaxesOf } from './pricing.ts'
import { credits, quoteLineText } from './descriptions.ts'
import { invoiceLines, paidThrough } from './invoice-lines.ts'
import { quoteOf, type Quote } from './quote.ts'
import type { Sql } from '../../../core/sql.ts'

/** The price of one AI credit without tax, in minor units. */
const CREDIT_PRICE = 2
/** How long bought credits can be used. */
const CREDIT_MONTHS = 12

interface Details {
  readonly creditCount: number
  readonly quote: Quote
}

/** Payments for AI credits. They can be used for a year. A refund does not take back credits. */
export class CreditPurpose implements Purpose {
  readonly #clock: Clock
  readonly #ledger: Ledger
  readonly #invoices: Invoices
  readonly #profiles: Pick<BillingProfiles, 'require'>
  readonly #taxesOf: TaxesOf

  constructor(
    clock: Clock,
    ledger: Ledger,
    invoices: Invoices,
    profiles: Pick<BillingProfiles, 'require'>,
    taxesOf: TaxesOf,
  ) {
    this.#clock = clock
    this.#ledger = ledger
    this.#invoices = invoices
    this.#profiles = profiles
    this.#taxesOf = taxesOf
  }

  async quote(sql: Sql, { at, input, language, userId }: PurposeRequest): Promise<PurposeQuote> {
    const { creditCount } = input
    if (typeof creditCount !== 'number') {
      throw ValidationFailed({ errors: [{ path: '/body/creditCount', code: 'required', message: 'is required' }] })
    }
    await this.#profiles.require(sql, userId)
    const described = credits(creditCount)
    const items = [{ kind: 'credits' as const, ...described, amount: creditCount * CREDIT_PRICE }]
    const quote = quoteOf({ currency: CURRENCY, items, taxesOn: await this.#taxesOf(sql, userId, at) })
    const details: Details = { creditCount, quote }
    return {
      total: { amount: quote.total, currency: quote.currency },
      description: quoteLineText(described, languageOf(language)),
      credits: [
        { account: houseAccount('revenue', CURRENCY), amount: quote.net },
        { account: houseAccount('tax', CURRENCY), amount: quote.tax },
      ],
      details: { ...details },
    }
  }

  async settle(tx: Transaction, { details, gateway, id, total, userId }: PurposePayment): Promise<boolean> {
    const { creditCount, quote } = details as unknown as Details
    const now = this.#clock.now()
    const expiresAt = new Date(addMonths(now, CREDIT_MONTHS))
    await this.#ledger.credits.grant(tx, {
      userId,
      amount: creditCount,
      source: 'purchase',
      reference: `payment:${id}:credits`,
      expiresAt,
    })
    // The service is that they can be used.
    const lines = invoiceLines(quote, [{ start: now, end: expiresAt.getTime() }])
    const { currency } = total
    const { taxes } = quote
    const paidBy = paidThrough(gateway)
    await this.#invoices.issue(tx, { userId, paymentId: id, currency, total: total.amount, lines, taxes, paidBy })
    return true
  }

  async refunded(tx: Transaction, { id: paymentId }: PurposePayment, refund: PurposeRefund): Promise<void> {
    const { amount, id: refundId, reason } = refund
    await this.#invoices.credit(tx, { paymentId, refundId, amount, reason })
  }
}
