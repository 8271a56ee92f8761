import { DAY } from '../../../../core/clock.ts'
import { dayBounds, dayKey } from '../../calendar/index.ts'

/** Days of a zone as numbers: days since 1970-01-01. They have 23 to 25 hours. */

/** `YYYY-MM-DD`. */
export function dayText(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 10)
}

/** The number of a `YYYY-MM-DD`. */
export function dayNumber(text: string): number {
  return Math.floor(Date.parse(`${text}T00:00:00Z`) / DAY)
}

/** The day of an instant. */
export function dayOf(at: number, zone: string): number {
  return dayNumber(dayKey(new Date(at), zone))
}

/** When a day begins and ends, in milliseconds. */
export function boundsOf(day: number, zone: string): { readonly start: number; readonly end: number } {
  const { end, start } = dayBounds(dayText(day), zone)
  return { start: start.getTime(), end: end.getTime() }
}

/** When each day from `first` to `last` begins, and when the last one ends. */
export function startsOf(
  first: number,
  last: number,
  zone: string,
): { readonly starts: string[]; readonly end: string } {
  const starts: string[] = []
  for (let day = first; day <= last; day += 1) starts.push(new Date(boundsOf(day, zone).start).toISOString())
  return { starts, end: new Date(boundsOf(last, zone).end).toISOString() }
}
