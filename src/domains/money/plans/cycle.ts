/** One month of a subscription, counted from the day it started. Milliseconds since the epoch; `end` is exclusive. */
export interface Cycle {
  readonly start: number
  readonly end: number
}

/**
 * The month that contains `now`, which may be before the anchor: a trial whose first cycle is paid ahead. In a
 * month without the anchor's day, the cycle starts on the last day.
 */
export function cycleAt(anchor: number, now: number): Cycle {
  const from = new Date(anchor)
  const at = new Date(now)
  let months = (at.getUTCFullYear() - from.getUTCFullYear()) * 12 + at.getUTCMonth() - from.getUTCMonth()
  if (addMonths(anchor, months) > now) months -= 1
  return { start: addMonths(anchor, months), end: addMonths(anchor, months + 1) }
}

/**
 * A moment some months after another one, at the same time of day (UTC). In a month without that day, it is the last
 * day. Always count from the first moment: steps of one month would turn the 31st into the 28th for good.
 */
export function addMonths(anchor: number, months: number): number {
  const date = new Date(anchor)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  return date.setUTCDate(Math.min(day, lastDay))
}
