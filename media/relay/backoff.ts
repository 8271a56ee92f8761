export interface BackoffLimits {
  readonly baseMs: number
  readonly maxMs: number
}

/**
 * Exponential back-off with full jitter: the delay is uniformly distributed between 0 and a limit that doubles with each
 * attempt. Outputs that were disconnected at the same time do not reconnect at the same time.
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
