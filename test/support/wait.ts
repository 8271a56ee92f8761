import { setTimeout as delay } from 'node:timers/promises'

export interface WaitOptions {
  /** The longest time to wait; 60,000 by default. */
  timeoutMs?: number
  /** What the test waits for, for the error message. */
  what?: string
  /** How often the condition is checked; every 10 ms by default. For conditions that are costly to check. */
  intervalMs?: number
}

const INTERVAL_MS = 10

/**
 * More than ten times what a condition takes on a busy machine, and half of the shortest time for a test. It is
 * reached only if the condition would never be met, so a test needs its own time only to wait for something that takes
 * minutes.
 */
const PATIENCE_MS = 60_000

/**
 * Calls the predicate again and again until it returns something truthy, and returns that.
 *
 * @throws {Error} on timeout, with the predicate's last error as cause, if it threw
 */
export async function waitFor<T>(
  predicate: () => T | Promise<T>,
  { intervalMs = INTERVAL_MS, timeoutMs = PATIENCE_MS, what = 'a condition' }: WaitOptions = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs
  let cause: unknown
  do {
    try {
      const value = await predicate()
      if (value) return value
      cause = undefined
    } catch (error) {
      cause = error
    }
    await delay(intervalMs)
  } while (performance.now() < deadline)
  throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause })
}
