import { DAY, HOUR, MINUTE, SECOND } from '../../../../core/clock.ts'

/** The delay before the second attempt. It doubles with each attempt. */
const FIRST_MS = 2 * SECOND
const MAX_MS = 10 * MINUTE

/**
 * How long to wait before the next attempt: full jitter (a random time up to a bound that doubles), and at least what the
 * platform asks for.
 * @param attempts that were made
 * @param retryAfter the platform's own value, in seconds
 */
export function retryDelayMs(attempts: number, retryAfter: number | undefined, random: () => number): number {
  const bound = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempts, 20))
  return Math.max(SECOND, Math.round(bound * random()), (retryAfter ?? 0) * SECOND)
}

/**
 * How long to wait before the next attempt, if this one made no call because calls to the platform are paused. It says
 * nothing new about the platform, so the wait does not grow.
 * @param pauseSeconds how long calls are paused
 */
export function pausedDelayMs(pauseSeconds: number, random: () => number): number {
  return pauseSeconds * SECOND + Math.round(FIRST_MS * random())
}

/** Attempts that begin within this time share a job and a claim, because those of many targets fail together. */
const TOGETHER_MS = SECOND / 4

/** A delay from now on, extended so that it ends together with those of other targets. */
export function togetherMs(now: number, delayMs: number): number {
  return Math.ceil((now + delayMs) / TOGETHER_MS) * TOGETHER_MS - now
}

/** When the outcome of a lost call is checked, after the call. Listings of platforms lag, so the first check may find nothing. */
const CHECKS_MS = [5 * SECOND, 30 * SECOND, 70 * SECOND, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 6 * HOUR, DAY]

/**
 * The time of the next check of a call, in milliseconds since the epoch; undefined when Crier gives up.
 * @param calledAt the latest time at which the platform can have received the call
 */
export function nextCheckAt(calledAt: number, now: number): number | undefined {
  const next = CHECKS_MS.find((after) => calledAt + after > now)
  return next === undefined ? undefined : calledAt + next
}

/** A post that a platform does not list this long after it can have received the call was not published. */
export const ABSENCE_MS = MINUTE

/** After this time, Crier no longer repeats or checks a call, and asks the user. */
export const GIVE_UP_MS = DAY

/** How long a held target waits before it is looked at again. */
export const HOLD_MS = MINUTE
