import { DAY } from '../../../../core/clock.ts'

/**
 * Local dates and times without a zone, as numbers: the milliseconds that `Date.UTC` gives for the same fields. So
 * arithmetic needs no time zone and no `Date` in the zone of the process.
 */

/** The first and the last year that a post can be scheduled in. */
export const FIRST_YEAR = 1970
export const LAST_YEAR = 2100

/** The last local time of `LAST_YEAR`. */
export const LAST_LOCAL = Date.UTC(LAST_YEAR, 11, 31, 23, 59, 59)

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?$/

/** Milliseconds of a `YYYY-MM-DD` at midnight, or undefined for any other text and for a day that does not exist. */
export function parseDate(text: string): number | undefined {
  const [, year, month, day] = DATE.exec(text) ?? []
  if (year === undefined) return undefined
  const at = new Date(0)
  at.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  return at.getUTCMonth() === Number(month) - 1 && at.getUTCDate() === Number(day) ? at.getTime() : undefined
}

/** Milliseconds of a `HH:MM` or `HH:MM:SS` after midnight. Fractions of a second are dropped. */
export function parseTime(text: string): number | undefined {
  const [, hour, minute, second] = TIME.exec(text) ?? []
  if (hour === undefined) return undefined
  return ((Number(hour) * 60 + Number(minute)) * 60 + Number(second ?? 0)) * 1_000
}

/** Milliseconds of a `YYYY-MM-DDTHH:MM[:SS]` without an offset. */
export function parseLocal(text: string): number | undefined {
  const date = text[10] === 'T' ? parseDate(text.slice(0, 10)) : undefined
  const time = date === undefined ? undefined : parseTime(text.slice(11))
  return date === undefined || time === undefined ? undefined : date + time
}

/** `YYYY-MM-DDTHH:MM:SS`. */
export function formatLocal(local: number): string {
  return new Date(local).toISOString().slice(0, 19)
}

/** `YYYY-MM-DD`. */
export function formatDate(local: number): string {
  return new Date(local).toISOString().slice(0, 10)
}

/** `HH:MM`, or `HH:MM:SS` if the seconds are not zero. */
export function formatTime(local: number): string {
  const text = new Date(local).toISOString().slice(11, 19)
  return text.endsWith(':00') ? text.slice(0, 5) : text
}

/** Midnight of the same day. */
export function startOfLocalDay(local: number): number {
  return local - (((local % DAY) + DAY) % DAY)
}

/** The weekday, 0 for Monday to 6 for Sunday. */
export function weekdayOf(local: number): number {
  return (((Math.floor(local / DAY) + 3) % 7) + 7) % 7
}

/** Whether a local time is in a year that a post can be scheduled in. */
export function isInRange(local: number): boolean {
  const year = new Date(local).getUTCFullYear()
  return year >= FIRST_YEAR && year <= LAST_YEAR
}
