import { addMonths, TERM_MONTHS, type Term } from '../plans/index.ts'

/** The time that a payment covers. Milliseconds since the epoch; `end` is exclusive. */
export interface Period {
  readonly start: number
  readonly end: number
}

/**
 * The cycle of a term that begins at `start`. Its end is counted in months from the anchor, so a subscription that began
 * on the 31st ends on the last day of shorter months and on the 31st of longer ones, and one that began on 29 February
 * returns to the 29th in leap years.
 * @param anchor when the first cycle began
 * @param start the anchor, or the end of an earlier cycle
 */
export function cycleFrom(anchor: number, start: number, term: Term): Period {
  return { start, end: addMonths(anchor, monthsUntil(anchor, start) + TERM_MONTHS[term]) }
}

/** Cycles that follow each other. */
export function cyclesFrom(anchor: number, start: number, term: Term, count: number): Period[] {
  const cycles: Period[] = []
  for (let next = start; cycles.length < count;) {
    const cycle = cycleFrom(anchor, next, term)
    cycles.push(cycle)
    next = cycle.end
  }
  return cycles
}

/** The smallest number of months after the anchor that reaches `at`. */
function monthsUntil(anchor: number, at: number): number {
  const [from, to] = [new Date(anchor), new Date(at)]
  const months = (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
  return addMonths(anchor, months) < at ? months + 1 : months
}

/** The whole cycle of a term that ends at `end`, of which a change in mid-cycle may have left only the rest. */
export function cycleUntil(anchor: number, end: number, term: Term): Period {
  return { start: addMonths(anchor, monthsUntil(anchor, end) - TERM_MONTHS[term]), end }
}

/** A part of something, in seconds. */
export interface Share {
  readonly left: number
  readonly of: number
}

/** What is left of a whole cycle. A second that has begun is used. */
export function leftOf(cycle: Period, now: number): Share {
  const of = secondsLeft(cycle, cycle.start)
  return { left: secondsLeft(cycle, now), of }
}

/**
 * What is left of the time from `since` to the end of a cycle. Seconds are counted from the beginning of the cycle, so
 * what was charged for the rest of a cycle is exactly what counts when that rest is replaced at the same moment.
 */
export function leftSince(cycle: Period, since: number, now: number): Share {
  const of = secondsLeft(cycle, since)
  return of === 0 ? { left: 0, of: 1 } : { left: Math.min(of, secondsLeft(cycle, now)), of }
}

function secondsLeft({ end, start }: Period, now: number): number {
  const of = Math.round((end - start) / 1_000)
  const used = Math.ceil((now - start) / 1_000)
  return Math.min(of, Math.max(0, of - used))
}
