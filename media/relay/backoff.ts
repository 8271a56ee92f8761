export interface BackoffLimits {
  readonly baseMs: number
  readonly maxMs: number
}

/**
 * Exponential back-off with full jitter: the wait is evenly spread between 0 and a limit that doubles with each
 * attempt, so that many outputs cut off at once do not come back at once.
 */
export class Backoff {
  readonly #limits: BackoffLimits
  readonly #random: () => number
  #attempts = 0

  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits
    this.#random = random
  }

  /** Milliseconds to wait before the next attempt. */
  next(): number {
    const limit = Math.min(this.#limits.maxMs, this.#limits.baseMs * 2 ** this.#attempts)
    this.#attempts += 1
    return this.#random() * limit
  }

  reset(): void {
    this.#attempts = 0
  }
}
