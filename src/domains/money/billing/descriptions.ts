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

export function fullPlan(plan: PlanName, term: Term, period?: Period): string {
  return `${planTitle(plan)}, ${TERM_NAMES[term]}${period === undefined ? '' : `, ${days(period)}`}`
}

export function fullExtras(count: number, term: Term, period?: Period): string {
  return `${accounts(count)}, ${TERM_NAMES[term]}${period === undefined ? '' : `, ${days(period)}`}`
}

export function restOf(plan: PlanName, period: Period): string {
  return `${planTitle(plan)}, ${seconds(period)}`
}

export function restOfExtras(count: number, period: Period): string {
  return `${accounts(count)}, ${seconds(period)}`
}

export function unusedPart(plan: PlanName, count: number, period: Period): string {
  return `Unused time of ${planTitle(plan)}${count === 0 ? '' : ` with ${accounts(count)}`}, ${seconds(period)}`
}

function accounts(count: number): string {
  return count === 1 ? '1 extra social account' : `${count} extra social accounts`
}

function days({ end, start }: Period): string {
  return `${day.format(start)} to ${day.format(end)}`
}

function seconds({ end, start }: Period): string {
  return `${moment.format(start)} to ${moment.format(end)} UTC`
}
