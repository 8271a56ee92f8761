/** Before the first answer. */
const INITIAL_MS = 50

/**
 * Estimates how long an answer to a request takes, as TCP does (RFC 6298). An answer is timed from the first request: nobody
 * knows which of several was answered. Where the first one was lost the estimate is too long, and corrects itself; timed
 * from the last one, it would stay too short for ever on a line slower than the interval between requests.
 */
export class RoundTrip {
  #smoothedMs: number | null = null
  #deviationMs = 0

  /** Whether any request was answered. */
  get isKnown(): boolean {
    return this.#smoothedMs !== null
  }

  /** What an answer usually takes. */
  get smoothedMs(): number {
    return this.#smoothedMs ?? INITIAL_MS
  }

  /** What an answer takes at most, as a rule. */
  get timeoutMs(): number {
    return this.smoothedMs + 4 * this.#deviationMs
  }

  add(sampleMs: number): void {
    if (this.#smoothedMs === null) {
      this.#smoothedMs = sampleMs
      this.#deviationMs = sampleMs / 2
      return
    }
    this.#deviationMs += (Math.abs(sampleMs - this.#smoothedMs) - this.#deviationMs) / 4
    this.#smoothedMs += (sampleMs - this.#smoothedMs) / 8
  }
}
