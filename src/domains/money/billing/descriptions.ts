import type { PlanName } from '../../identity/users/index.ts'
import {
  formatDay,
  languageOf,
  lastDay,
  lineText,
  type DocumentLanguage,
  type LineText,
  type ServicePeriod,
} from '../invoices/index.ts'
import { PLANS, type Term } from '../plans/index.ts'
import type { Period } from './cycles.ts'

/** The texts of quotes and invoices. Times are UTC, to the second, as proration is. */

export function planTitle(plan: PlanName): string {
  return PLANS[plan].title
}

/** What a line is for, in any language. */
export interface Described {
  /** In English. */
  readonly description: string
  readonly text: LineText
  /** The time that quotes name. Absent where it is not known before the settlement. */
  readonly named?: ServicePeriod
}

/** Lines of a whole term. Invoices have its days in a column of their own, so that only quotes name them. */
const WHOLE: readonly LineText['key'][] = ['invoice.line.plan', 'invoice.line.accounts']
/** Lines whose text needs a time. */
const TIMED: readonly LineText['key'][] = [
  'invoice.line.planRest',
  'invoice.line.accountsRest',
  'invoice.line.unused',
  'invoice.line.unusedWithAccounts',
]

const ENGLISH = languageOf('en')

/** What a line of a quote is for. Lines that were stored before they had texts for all languages are in English. */
export function quoteLineText(
  { description, named, text }: Pick<Described, 'description' | 'named'> & { readonly text?: LineText },
  language: DocumentLanguage,
): string {
  if (text === undefined || (named === undefined && TIMED.includes(text.key))) return description
  const line = lineText({ description, text, ...named }, language)
  if (named === undefined || !WHOLE.includes(text.key)) return line
  const [from, to] = [named.from, lastDay(named)].map((at) => formatDay(at, language.locale))
  return language.texts.say('quote.withDays', { line, from: from ?? '', to: to ?? '' })
}

export function fullPlan(plan: PlanName, term: Term, period?: Period): Described {
  return described('plan', { plan: planTitle(plan), term }, period)
}

export function fullExtras(count: number, term: Term, period?: Period): Described {
  return described('accounts', { count, term }, period)
}

export function restOf(plan: PlanName, period: Period): Described {
  return described('planRest', { plan: planTitle(plan) }, period)
}

export function restOfExtras(count: number, period: Period): Described {
  return described('accountsRest', { count }, period)
}

export function unusedPart(plan: PlanName, count: number, period: Period): Described {
  const values = { plan: planTitle(plan), count }
  return described(count === 0 ? 'unused' : 'unusedWithAccounts', values, period)
}

export function credits(count: number): Described {
  return described('credits', { count })
}

/** @param percent null for an amount */
export function couponOff(code: string, percent: number | null): Described {
  return percent === null ? described('coupon', { code }) : described('couponPercent', { code, percent })
}

export function belowSmallest(): Described {
  return described('waived', {})
}

type Short<K> = K extends `invoice.line.${infer Name}` ? Name : never

function described(name: Short<LineText['key']>, values: LineText['values'], period?: Period): Described {
  const text = { key: `invoice.line.${name}` as const, values }
  const named = period && { from: new Date(period.start).toISOString(), to: new Date(period.end).toISOString() }
  const line = { text, ...(named !== undefined && { named }) }
  return { description: quoteLineText({ description: '', ...line }, ENGLISH), ...line }
}
