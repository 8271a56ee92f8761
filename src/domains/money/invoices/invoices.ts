import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Row } from '../../../db/row.ts'
import { scaled, sum } from '../ledger/index.ts'
import type { InvoiceContent, InvoiceKind, InvoiceLine, PaidBy } from './content.ts'
import type { BillingProfiles } from './profile.ts'
import type { Seller } from './seller.ts'
import { wholePeriod } from './service-period.ts'
import { invoices } from './tables.ts'
import type { Tax } from './tax/tax.ts'

export type InvoiceRow = Row<typeof invoices.entity>

/** What an invoice is issued for. */
export interface InvoiceRequest {
  readonly userId: string
  readonly paymentId: string
  readonly currency: string
  /** What was paid. The lines and taxes add up to it. */
  readonly total: number
  readonly lines: readonly InvoiceLine[]
  /** As they were quoted and charged; see `Taxes.of`. */
  readonly taxes: readonly Tax[]
  readonly paidBy?: PaidBy
}

/** What a credit note is issued for. */
export interface CreditRequest {
  readonly paymentId: string
  readonly refundId: string
  /** What was paid back, with tax, in minor units. */
  readonly amount: number
  readonly reason: string
}

/**
 * Issues invoices and credit notes in the transaction that settles or refunds a payment. The database numbers them without
 * gaps, and locks the series until the commit. So issue them last.
 */
export class Invoices {
  readonly #clock: Clock
  readonly #seller: Seller
  readonly #profiles: BillingProfiles
  readonly #prefix: string

  constructor(clock: Clock, seller: Seller, profiles: BillingProfiles, prefix: string) {
    this.#clock = clock
    this.#seller = seller
    this.#profiles = profiles
    this.#prefix = prefix
  }

  /**
   * Issues the invoice of a payment. A payment has one, however often this is called.
   * @param sql the transaction that settles the payment
   * @throws RangeError when the lines and taxes do not add up to the total
   */
  async issue(sql: Sql, request: InvoiceRequest): Promise<InvoiceRow> {
    const { currency, lines, paidBy, paymentId, taxes, total, userId } = request
    const net = sum(lines.map(({ amount }) => amount))
    const tax = sum(taxes.map(({ amount }) => amount))
    if (net + tax !== total) throw new RangeError(`an invoice of ${total} ${currency} has parts of ${net} and ${tax}`)
    const buyer = await this.#profiles.buyer(sql, userId)
    // The number that the tax depends on is the one that was charged with.
    const owing = taxes.find(({ vatNumber }) => vatNumber !== null)
    const vatNumber = owing?.vatNumber ?? buyer.vatNumber
    const content = { seller: this.#seller, buyer: { ...buyer, vatNumber }, lines, taxes, paidBy: paidBy ?? null }
    return this.#insert(sql, `invoice:${paymentId}`, {
      kind: 'invoice',
      userId,
      paymentId,
      invoiceId: null,
      currency,
      net,
      tax,
      total,
      content,
    })
  }

  /**
   * Issues the credit note of a refund. The tax is in proportion, and that of all refunds together adds up to the tax of
   * the invoice.
   * @param sql the transaction that records the refund
   * @returns undefined if the payment has no invoice
   * @throws RangeError when more is paid back than was paid
   */
  async credit(sql: Sql, { amount, paymentId, reason, refundId }: CreditRequest): Promise<InvoiceRow | undefined> {
    const reference = `credit-note:${refundId}`
    const known = await invoices.first(sql, { reference })
    if (known !== undefined) return known
    const invoice = await invoices.first(sql, { paymentId, kind: 'invoice' })
    if (invoice === undefined) return undefined
    const before = await invoices.find(sql, { invoiceId: invoice.id }, { columns: ['total', 'tax'] })
    const credited = sum(before.map(({ total }) => total))
    if (amount <= 0 || credited + amount > invoice.total) {
      throw new RangeError(`${amount} of an invoice of ${invoice.total} cannot be paid back after ${credited}`)
    }
    const taxSoFar = sum(before.map(({ tax }) => tax))
    const tax = scaled(credited + amount, invoice.tax, invoice.total) - taxSoFar
    const net = amount - tax
    const { buyer, lines, taxes } = invoice.content
    const number = this.numberOf(invoice)
    const text = { key: 'invoice.line.refund', values: { number } } as const
    return this.#insert(sql, reference, {
      kind: 'credit_note',
      userId: invoice.userId,
      paymentId,
      invoiceId: invoice.id,
      currency: invoice.currency,
      net,
      tax,
      total: amount,
      content: {
        seller: this.#seller,
        buyer,
        // It corrects what was paid for the same time.
        lines: [{ description: `Refund of ${number}`, text, amount: net, ...wholePeriod(lines) }],
        taxes: taxes.map((part) => ({ ...part, net, amount: tax })),
        paidBy: null,
        credits: { number, createdAt: invoice.createdAt, reason },
      },
    })
  }

  /** The number of an invoice, such as `INV-000042`. */
  numberOf({ number, series }: Pick<InvoiceRow, 'number' | 'series'>): string {
    return `${series}-${String(number).padStart(6, '0')}`
  }

  async #insert(sql: Sql, reference: string, fields: Omit<NewInvoice, 'reference' | 'series'>): Promise<InvoiceRow> {
    const known = await invoices.first(sql, { reference })
    if (known !== undefined) return known
    const now = this.#clock.now()
    const series = `${this.#prefix}${fields.kind === 'credit_note' ? 'C' : ''}`
    await invoices.insert(sql, { id: uuidv7(now), reference, series, ...fields, createdAt: new Date(now) })
    const issued = await invoices.first(sql, { reference })
    if (issued === undefined) throw new Error(`the invoice for ${reference} was not written`)
    return issued
  }
}

interface NewInvoice {
  readonly kind: InvoiceKind
  readonly series: string
  readonly reference: string
  readonly userId: string
  readonly paymentId: string
  readonly invoiceId: string | null
  readonly currency: string
  readonly net: number
  readonly tax: number
  readonly total: number
  readonly content: InvoiceContent
}
