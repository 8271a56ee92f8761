import { lastDay, type LineText } from '../invoices/index.ts'
import type { PlanName } from '../../identity/users/index.ts'
import { PLANS, type Term } from '../plans/index.ts'
import type { Period } from './cycles.ts'

/** The texts of quotes and invoices. Times are UTC, to the second, as proration is. */

const TERM_NAMES: Readonly<Record<Term, string>> = { month: 'one month', quarter: 'three months', year: 'one year' }

/** `12 Mar 2026, 10:15:00` */
const moment = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

const day = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' })

export function planTitle(plan: PlanName): string {
  return PLANS[plan].title
}

/** What a line is for: in English, as previews show it, and for invoices in any language. */
export interface Described {
  readonly description: string
  readonly text: LineText
}

export function fullPlan(plan: PlanName, term: Term, period?: Period): Described {
  return {
    description: `${planTitle(plan)}, ${TERM_NAMES[term]}${period === undefined ? '' : `, ${days(period)}`}`,
    text: { key: 'invoice.line.plan', values: { plan: planTitle(plan), term } },
  }
}

export function fullExtras(count: number, term: Term, period?: Period): Described {
  return {
    description: `${accounts(count)}, ${TERM_NAMES[term]}${period === undefined ? '' : `, ${days(period)}`}`,
    text: { key: 'invoice.line.accounts', values: { count, term } },
  }
}

export function restOf(plan: PlanName, period: Period): Described {
  return {
    description: `${planTitle(plan)}, ${seconds(period)}`,
    text: { key: 'invoice.line.planRest', values: { plan: planTitle(plan) } },
  }
}

export function restOfExtras(count: number, period: Period): Described {
  return {
    description: `${accounts(count)}, ${seconds(period)}`,
    text: { key: 'invoice.line.accountsRest', values: { count } },
  }
}

export function unusedPart(plan: PlanName, count: number, period: Period): Described {
  const values = { plan: planTitle(plan), count }
  return {
    description: `Unused time of ${planTitle(plan)}${count === 0 ? '' : ` with ${accounts(count)}`}, ${seconds(period)}`,
    text: { key: count === 0 ? 'invoice.line.unused' : 'invoice.line.unusedWithAccounts', values },
  }
}

export function credits(count: number): Described {
  return { description: `${count} AI credits`, text: { key: 'invoice.line.credits', values: { count } } }
}

/** @param percent null for an amount */
export function couponOff(code: string, percent: number | null): Described {
  return percent === null
    ? { description: `Coupon ${code}`, text: { key: 'invoice.line.coupon', values: { code } } }
    : {
        description: `Coupon ${code} (${percent} %)`,
        text: { key: 'invoice.line.couponPercent', values: { code, percent } },
      }
}

export function belowSmallest(): Described {
  return { description: 'Below the smallest charge', text: { key: 'invoice.line.waived', values: {} } }
}

function accounts(count: number): string {
  return count === 1 ? '1 extra social account' : `${count} extra social accounts`
}

function days({ end, start }: Period): string {
  const [from, to] = [new Date(start).toISOString(), new Date(end).toISOString()]
  return `${day.format(start)} to ${day.format(Date.parse(lastDay({ from, to })))}`
}

function seconds({ end, start }: Period): string {
  return `${moment.format(start)} to ${moment.format(end)} UTC`
}
