import { ValidationFailed } from '../../../../core/errors.ts'
import type { WEEK_STARTS } from '../../../identity/users/index.ts'
import { firstDayOf, lastDayOf, type Unit } from '../storage/periods.ts'
import { boundsOf, dayNumber, dayOf, dayText } from '../storage/zone-days.ts'

/** Whole days of a zone, both ends included. */
export interface Span {
  readonly first: number
  readonly last: number
  readonly zone: string
}

export type Interval = 'day' | Unit

/** A part of a span. The first and the last one may be cut. */
export interface Bucket {
  readonly first: number
  readonly last: number
}

const DEFAULT_DAYS = 30
export const MAX_DAYS = 800
const EARLIEST = dayNumber('2005-01-01')

/** The last 30 days by default. @throws AppError validation_failed */
export function spanOf(asked: { readonly from?: string; readonly to?: string }, zone: string, now: number): Span {
  const today = dayOf(now, zone)
  const last = asked.to === undefined ? today : dayNumber(asked.to)
  const first = asked.from === undefined ? last - DEFAULT_DAYS + 1 : dayNumber(asked.from)
  const refuse = (path: string, code: string, message: string) =>
    ValidationFailed({ errors: [{ path, code, message }] })
  if (first > last) throw refuse('/query/from', 'order', 'must not be after `to`')
  if (last - first >= MAX_DAYS) throw refuse('/query/from', 'range', `must be less than ${MAX_DAYS} days before \`to\``)
  if (first < EARLIEST) throw refuse('/query/from', 'range', 'must not be before 2005-01-01')
  if (last > today + MAX_DAYS) throw refuse('/query/to', 'range', `must be at most ${MAX_DAYS} days from now`)
  return { first, last, zone }
}

/** The span of as many days directly before. */
export function spanBefore({ first, last, zone }: Span): Span {
  return { first: first - (last - first + 1), last: first - 1, zone }
}

/** When a span begins and ends, in milliseconds. */
export function timesOf({ first, last, zone }: Span): { readonly start: number; readonly end: number } {
  return { start: boundsOf(first, zone).start, end: boundsOf(last, zone).end }
}

/** How a reply shows a span. */
export function spanView(span: Span) {
  const { end, start } = timesOf(span)
  return {
    from: dayText(span.first),
    to: dayText(span.last),
    startsAt: new Date(start).toISOString(),
    endsAt: new Date(end).toISOString(),
    dayCount: span.last - span.first + 1,
  }
}

export type WeekStart = (typeof WEEK_STARTS)[number]

/** How many days after Monday a week begins. */
const AFTER_MONDAY: Readonly<Record<WeekStart, number>> = { monday: 0, saturday: 5, sunday: 6 }

/** The last day of the week or month of a day. 1970-01-01 was a Thursday. */
function endOf(day: number, interval: Interval, weekStart: WeekStart): number {
  if (interval === 'day') return day
  return interval === 'week' ? day + 6 - ((day + 3 + 7 - AFTER_MONDAY[weekStart]) % 7) : lastDayOf(day, interval)
}

/** The days, weeks or months of a span. */
export function bucketsOf({ first, last }: Span, interval: Interval, weekStart: WeekStart = 'monday'): Bucket[] {
  const buckets: Bucket[] = []
  for (let day = first; day <= last;) {
    const end = Math.min(endOf(day, interval, weekStart), last)
    buckets.push({ first: day, last: end })
    day = end + 1
  }
  return buckets
}

/** A span as what is read of it: whole weeks or months from their roll-up, and the rest from days. */
export interface Pieces {
  /** The first days of the first and the last whole week or month. The second is before the first if there is none. */
  readonly whole: readonly [number, number]
  /** The first days of the pieces at the ends, and their last days. */
  readonly firsts: readonly number[]
  readonly lasts: readonly number[]
}

/** The pieces of a span. By day it has no whole week or month. The roll-ups are of weeks from Monday. */
export function piecesOf({ first, last }: Span, interval: Interval, weekStart: WeekStart = 'monday'): Pieces {
  const none = { whole: [1, 0] as const, firsts: [first], lasts: [last] }
  if (interval === 'day' || (interval === 'week' && weekStart !== 'monday')) return none
  const from = firstDayOf(first, interval) === first ? first : lastDayOf(first, interval) + 1
  const until = lastDayOf(last, interval) === last ? last : firstDayOf(last, interval) - 1
  if (from > until) return none
  const ends = [
    [first, from - 1],
    [until + 1, last],
  ].filter(([start = 0, end = 0]) => start <= end)
  return {
    whole: [from, firstDayOf(until, interval)],
    firsts: ends.map(([start = 0]) => start),
    lasts: ends.map(([, end = 0]) => end),
  }
}
