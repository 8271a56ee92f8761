/** Arrival times are averaged over this long: networks hold packets back, and publishers send in bursts. */
const WINDOW_MS = 5_000

/**
 * Compares a publisher's clock with ours. What counts is how far media has moved against real time since the first
 * window: a publisher that merely is late is late from the start.
 */
export class ClockDrift {
  #windowEnd: number | null = null
  #count = 0
  #sum = 0
  #reference: number | null = null
  #skew: number | null = null

  /** How far media ran ahead of real time (positive) or fell behind it, in seconds; null until two windows have passed. */
  get seconds(): number | null {
    return this.#reference === null || this.#skew === null ? null : (this.#skew - this.#reference) / 1_000
  }

  /** A frame with this timestamp arrived at `now`, both in milliseconds. */
  add(timestamp: number, now: number): void {
    this.#windowEnd ??= now + WINDOW_MS
    if (now >= this.#windowEnd) this.#close(now)
    this.#count += 1
    this.#sum += timestamp - now
  }

  /** The publisher's clock has started anew. */
  restart(): void {
    this.#windowEnd = this.#reference = this.#skew = null
    this.#count = this.#sum = 0
  }

  #close(now: number): void {
    const mean = this.#sum / this.#count
    if (this.#reference === null) this.#reference = mean
    else this.#skew = mean
    this.#count = this.#sum = 0
    this.#windowEnd = now + WINDOW_MS
  }
}
