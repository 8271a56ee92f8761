/** Assumed before the first sample. */
const INITIAL_MS = 50

/**
 * Estimates the time from a NACK to the retransmission, as TCP estimates the RTT (RFC 6298). A packet can be requested several
 * times, and it is unknown which request was answered, so the sample starts at the first request. If that request was lost,
 * the sample is too long, and later samples correct it. Samples from the last request would stay too short whenever the RTT is
 * longer than the interval between requests.
 */
export class RttEstimator {
  #smoothedMs: number | null = null
  #deviationMs = 0

  /** Whether there is a sample. */
  get isKnown(): boolean {
    return this.#smoothedMs !== null
  }

  /** The smoothed time (SRTT). */
  get smoothedMs(): number {
    return this.#smoothedMs ?? INITIAL_MS
  }

  /** Upper bound for almost all retransmissions (RTO). */
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
