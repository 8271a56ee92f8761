/** Where time comes from. Everything in `src` asks this port, so that tests can move time. */
export interface Clock {
  /** Milliseconds since the Unix epoch (wall clock: may step). */
  now(): number
  /** Milliseconds on a clock that never steps back; only differences mean anything. */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** A clock that stands still until it is told to move. For tests. */
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

  /** Moves time forward by `ms` milliseconds. */
  advance(ms: number): void {
    this.#now += ms
  }
}

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
