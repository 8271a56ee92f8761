import { ValidationFailed } from '../../../../core/errors.ts'
import { boundsOf, dayNumber, dayOf, dayText } from '../storage/zone-days.ts'

/** Whole days of a zone, both ends included. */
export interface Span {
  readonly first: number
  readonly last: number
  readonly zone: string
}

export type Interval = 'day' | 'week' | 'month'

/** A part of a span. The first and the last one may be cut. */
export interface Bucket {
  readonly first: number
  readonly last: number
}

const DEFAULT_DAYS = 30
export const MOST_DAYS = 800
const EARLIEST = dayNumber('2005-01-01')

/** The last 30 days by default. @throws AppError validation_failed */
export function spanOf(asked: { readonly from?: string; readonly to?: string }, zone: string, now: number): Span {
  const today = dayOf(now, zone)
  const last = asked.to === undefined ? today : dayNumber(asked.to)
  const first = asked.from === undefined ? last - DEFAULT_DAYS + 1 : dayNumber(asked.from)
  const refuse = (path: string, code: string, message: string) =>
    ValidationFailed({ errors: [{ path, code, message }] })
  if (first > last) throw refuse('/query/from', 'order', 'must not be after `to`')
  if (last - first >= MOST_DAYS)
    throw refuse('/query/from', 'range', `must be less than ${MOST_DAYS} days before \`to\``)
  if (first < EARLIEST) throw refuse('/query/from', 'range', 'must not be before 2005-01-01')
  if (last > today + MOST_DAYS) throw refuse('/query/to', 'range', `must be at most ${MOST_DAYS} days from now`)
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

/** The days, weeks (from Monday) or months of a span. */
export function bucketsOf({ first, last }: Span, interval: Interval): Bucket[] {
  const buckets: Bucket[] = []
  for (let day = first; day <= last;) {
    const end = Math.min(endOf(day, interval), last)
    buckets.push({ first: day, last: end })
    day = end + 1
  }
  return buckets
}

function endOf(day: number, interval: Interval): number {
  if (interval === 'day') return day
  // 1970-01-01 was a Thursday.
  if (interval === 'week') return day + 6 - ((day + 3) % 7)
  const [year = 0, month = 1] = dayText(day).split('-').map(Number)
  return dayNumber(new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10)) - 1
}
