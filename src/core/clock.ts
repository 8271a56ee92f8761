/** The time source. All of `src` uses this port, so that tests can control time. */
export interface Clock {
  /** Milliseconds since the Unix epoch. This is the wall clock and may jump. */
  now(): number
  /** Milliseconds on a monotonic clock. Only differences are meaningful. */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** A clock for tests. It advances only when `advance` is called. */
export class ManualClock implements Clock {
  #now: number

  constructor(start: number = Date.parse('2026-11-01T12:00:00Z')) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  /** Advances time by `ms` milliseconds. */
  advance(ms: number): void {
    this.#now += ms
  }
}

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
