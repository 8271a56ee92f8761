import type { Texts } from '../../../../language/texts.ts'
import type { InvoiceContent, Party } from '../content.ts'
import type { InvoiceRow } from '../invoices.ts'
import type { DocumentLanguage } from '../language.ts'
import { lineText, taxText } from '../line-text.ts'
import { formatDay, formatMoney } from '../money-format.ts'
import { lastDay, periodOf, wholePeriod, type ServicePeriod } from '../service-period.ts'
import { countryName } from '../tax/tax.ts'

/** What the template shows. Everything is text that is ready to print. */
export interface DocumentView {
  /** The language tag of the texts. */
  readonly language: string
  /** The labels of the template. */
  readonly labels: Readonly<Record<'from' | 'to' | 'description' | 'period' | 'amount', string>>
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
export function documentView(row: InvoiceRow, number: string, language: DocumentLanguage): DocumentView {
  const { locale, texts } = language
  const { content, createdAt, currency, kind, net, total } = row
  const money = (amount: number) => formatMoney(amount, currency, locale)
  const day = (at: string) => formatDay(at, locale)
  const span = (period: ServicePeriod) => `${day(period.from)} – ${day(lastDay(period))}`
  const { buyer, credits, lines, paidBy, seller, taxes } = content
  const isCredit = kind === 'credit_note'
  const issuedAt = new Date(createdAt)
  const whole = wholePeriod(lines)
  const say: Texts['say'] = (key, values) => texts.say(key, values)
  return {
    language: texts.language,
    labels: {
      from: say('invoice.from'),
      to: say('invoice.to'),
      description: say('invoice.description'),
      period: say('invoice.period'),
      amount: say('invoice.amount'),
    },
    title: say(isCredit ? 'invoice.creditNote' : 'invoice.invoice'),
    number,
    facts: [
      [say('invoice.date'), day(createdAt)],
      ...(whole === undefined ? [] : [[say('invoice.servicePeriod'), span(whole)] as const]),
      ...(credits === undefined
        ? []
        : [[say('invoice.invoice'), `${credits.number}, ${day(credits.createdAt)}`] as const]),
      ...(paidBy === null ? [] : [[say('invoice.paidBy'), say(`invoice.paidBy.${paidBy}`)] as const]),
    ],
    seller: partyLines(seller, texts),
    buyer: partyLines(buyer, texts),
    lines: lines.map((line) => {
      const period = periodOf(line)
      return {
        description: lineText(line, language),
        period: period === undefined ? '' : span(period),
        amount: money(line.amount),
      }
    }),
    totals: [
      [say('invoice.net'), money(net)],
      ...taxes.map((tax) => [taxText(tax, texts), money(tax.amount)] as const),
    ],
    total: [say(isCredit ? 'invoice.refunded' : 'invoice.totalPaid'), money(total)],
    notes: notesOf(content, texts),
    footer: [
      seller.name,
      seller.taxNumber === null ? '' : say('invoice.taxNumber', { number: seller.taxNumber }),
      seller.email ?? '',
    ]
      .filter(Boolean)
      .join(' · '),
    day: [issuedAt.getUTCFullYear(), issuedAt.getUTCMonth() + 1, issuedAt.getUTCDate()],
  }
}

function partyLines({ city, country, name, postalCode, street, vatNumber }: Party, texts: Texts): string[] {
  const place = [postalCode, city].filter(Boolean).join(' ')
  const from = country === null ? '' : countryName(country, texts.language)
  const vat = vatNumber === null ? '' : texts.say('invoice.vatNumber', { number: vatNumber })
  return [name, street, place, from, vat].filter(Boolean)
}

function notesOf({ credits, taxes }: InvoiceContent, texts: Texts): string[] {
  const isReversed = taxes.some(({ treatment }) => treatment === 'reverse_charge')
  return [
    ...(credits === undefined ? [] : [texts.say('invoice.reason', { reason: credits.reason })]),
    ...(isReversed ? [texts.say('invoice.reverseCharge')] : []),
    ...(taxes.length === 0 ? [texts.say('invoice.notSubject')] : []),
  ]
}
