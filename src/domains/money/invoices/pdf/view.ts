import type { InvoiceContent, Party } from '../content.ts'
import type { InvoiceRow } from '../invoices.ts'
import { formatDay, formatMoney } from '../money-format.ts'
import { countryName } from '../tax/tax.ts'

/** What the template shows. Everything is text that is ready to print. */
export interface DocumentView {
  readonly title: string
  readonly number: string
  readonly facts: readonly (readonly [label: string, value: string])[]
  readonly seller: readonly string[]
  readonly buyer: readonly string[]
  readonly lines: readonly { readonly description: string; readonly period: string; readonly amount: string }[]
  readonly totals: readonly (readonly [label: string, value: string])[]
  readonly total: readonly [label: string, value: string]
  readonly notes: readonly string[]
  readonly footer: string
  /** The day it was issued: year, month, day. */
  readonly day: readonly [number, number, number]
}

/** @param number the number of the document, such as `INV-000042` */
export function documentView(row: InvoiceRow, number: string, locale: string): DocumentView {
  const { content, createdAt, currency, kind, net, total } = row
  const money = (amount: number) => formatMoney(amount, currency, locale)
  const day = (at: string) => formatDay(at, locale)
  const { buyer, credits, lines, paidBy, seller, taxes } = content
  const isCredit = kind === 'credit_note'
  const issuedAt = new Date(createdAt)
  return {
    title: isCredit ? 'Credit note' : 'Invoice',
    number,
    facts: [
      ['Date', day(createdAt)],
      ...(credits === undefined ? [] : [['Invoice', `${credits.number}, ${day(credits.createdAt)}`] as const]),
      ...(paidBy === null ? [] : [['Paid by', paidBy] as const]),
    ],
    seller: partyLines(seller),
    buyer: partyLines(buyer),
    lines: lines.map(({ amount, description, from, to }) => {
      const period = from === undefined || to === undefined ? '' : `${day(from)} – ${day(to)}`
      return { description, period, amount: money(amount) }
    }),
    totals: [['Net', money(net)], ...taxes.map(({ amount, description }) => [description, money(amount)] as const)],
    total: [isCredit ? 'Refunded' : 'Total, paid', money(total)],
    notes: notesOf(content),
    footer: [seller.name, seller.taxNumber === null ? '' : `Tax number ${seller.taxNumber}`, seller.email ?? '']
      .filter(Boolean)
      .join(' · '),
    day: [issuedAt.getUTCFullYear(), issuedAt.getUTCMonth() + 1, issuedAt.getUTCDate()],
  }
}

function partyLines({ city, country, name, postalCode, street, vatNumber }: Party): string[] {
  const place = [postalCode, city].filter(Boolean).join(' ')
  const from = country === null ? '' : countryName(country)
  return [name, street, place, from, vatNumber === null ? '' : `VAT number ${vatNumber}`].filter(Boolean)
}

function notesOf({ credits, taxes }: InvoiceContent): string[] {
  const isReversed = taxes.some(({ treatment }) => treatment === 'reverse_charge')
  return [
    ...(credits === undefined ? [] : [`Reason: ${credits.reason}`]),
    ...(isReversed
      ? ['Reverse charge: the customer owes the VAT (articles 44 and 196 of Directive 2006/112/EC).']
      : []),
    ...(taxes.length === 0 ? ['Not subject to VAT.'] : []),
  ]
}
