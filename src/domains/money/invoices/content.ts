import type { TextKey, TextValues } from '../../../language/texts.ts'
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

/** What a line is for, in any language. `from` and `to` of the line are values, too. */
export interface LineText {
  readonly key: TextKey & `invoice.line.${string}`
  readonly values: TextValues
}

export interface InvoiceLine {
  /** What it is for, in English. */
  readonly description: string
  /** The same in any language. Absent for a text that has no translation. */
  readonly text?: LineText
  /** Without tax, in minor units. Negative for a discount, and for what is given back. */
  readonly amount: number
  /** The time that it pays for, in ISO 8601. `to` is exclusive. */
  readonly from?: string
  readonly to?: string
}

/** How something was paid. */
export type PaidBy = 'wallet' | 'card' | 'transfer' | 'coins'

export interface InvoiceContent {
  readonly seller: Party & { readonly taxNumber: string | null }
  readonly buyer: Party
  readonly lines: readonly InvoiceLine[]
  readonly taxes: readonly Tax[]
  readonly paidBy: PaidBy | null
  /** Of a credit note: the number and the day of the invoice, and why. */
  readonly credits?: { readonly number: string; readonly createdAt: string; readonly reason: string }
}
