import { DAY, HOUR, MINUTE } from '../../../../core/clock.ts'

/** How often a post is asked for, by its age: newest content more often. The last step ends. */
const STEPS = [
  { until: DAY, every: HOUR },
  { until: 3 * DAY, every: 3 * HOUR },
  { until: 7 * DAY, every: 6 * HOUR },
  { until: 30 * DAY, every: DAY },
  { until: 90 * DAY, every: 3 * DAY },
  { until: 365 * DAY, every: 30 * DAY },
] as const

/** The longest time between two readings of an account. Each day of each zone has one. */
const ACCOUNT_MS = 6 * HOUR
const ACCOUNT_LEAST_MS = HOUR
const FIRST_RETRY_MS = 5 * MINUTE
const LAST_RETRY_MS = 6 * HOUR

/** When a post is asked for next. Undefined when it is older than a year. */
export function nextForContent(publishedAt: number, now: number): number | undefined {
  const age = now - publishedAt
  const step = STEPS.find(({ until }) => age < until)
  return step && now + step.every
}

/**
 * When an account is asked next.
 * @param soonest when its next post is due
 * @param everyMs the shortest time that its platform needs
 */
export function nextForAccount(now: number, soonest: number | undefined, everyMs = ACCOUNT_LEAST_MS): number {
  return Math.max(now + everyMs, Math.min(now + ACCOUNT_MS, soonest ?? Infinity))
}

/** When an account is asked again after `count` failures. @param retryAfter seconds, as the platform says */
export function nextAfterFailure(now: number, count: number, retryAfter: number | undefined): number {
  if (retryAfter !== undefined) return now + Math.max(retryAfter * 1_000, MINUTE)
  return now + Math.min(FIRST_RETRY_MS * 2 ** Math.max(0, count - 1), LAST_RETRY_MS)
}
