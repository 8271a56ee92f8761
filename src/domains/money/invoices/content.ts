import type { Tax } from './tax/tax.ts'

/** What an invoice says, as it is kept. */

export type InvoiceKind = 'invoice' | 'credit_note'

/** The seller, or the buyer. */
export interface Party {
  readonly name: string
  readonly street: string
  readonly city: string
  readonly postalCode: string
  /** ISO 3166-1 alpha-2. */
  readonly country: string | null
  readonly vatNumber: string | null
  readonly email: string | null
}

export interface InvoiceLine {
  readonly description: string
  /** Without tax, in minor units. Negative for a discount, and for what is given back. */
  readonly amount: number
  /** The time that it pays for, in ISO 8601. */
  readonly from?: string
  readonly to?: string
}

export interface InvoiceContent {
  readonly seller: Party & { readonly taxNumber: string | null }
  readonly buyer: Party
  readonly lines: readonly InvoiceLine[]
  readonly taxes: readonly Tax[]
  /** How it was paid, such as `Card`. */
  readonly paidBy: string | null
  /** Of a credit note: the number and the day of the invoice, and why. */
  readonly credits?: { readonly number: string; readonly createdAt: string; readonly reason: string }
}
