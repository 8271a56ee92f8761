import { setTimeout as delay } from 'node:timers/promises'

export interface WaitOptions {
  /** How long the condition may take; 5,000 by default. */
  timeoutMs?: number
  /** What is waited for, for the message when it does not come. */
  what?: string
}

const INTERVAL_MS = 10

/**
 * Waits until the predicate returns something truthy, asking every 10 ms, and returns that.
 *
 * @throws {Error} when the time is over; with the predicate's own last error as cause, if it threw
 */
export async function waitFor<T>(
  predicate: () => T | Promise<T>,
  { timeoutMs = 5_000, what = 'a condition' }: WaitOptions = {},
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
    await delay(INTERVAL_MS)
  } while (performance.now() < deadline)
  throw new Error(`waited ${timeoutMs} ms for ${what}, in vain`, { cause })
}
