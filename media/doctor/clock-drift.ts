/** Arrival times are averaged over this time, because networks delay packets and publishers send in bursts. */
const WINDOW_MS = 5_000

/**
 * Measures how far a publisher's timestamps drift from real time. The first window is the reference, so a constant
 * latency does not count.
 */
export class ClockDrift {
  #windowEnd: number | null = null
  #count = 0
  #sum = 0
  #reference: number | null = null
  #skew: number | null = null

  /** Seconds by which timestamps are ahead of real time; negative when behind. Null until two windows have passed. */
  get seconds(): number | null {
    return this.#reference === null || this.#skew === null ? null : (this.#skew - this.#reference) / 1_000
  }

  /** Adds a frame with this timestamp that arrived at `now`, both in milliseconds. */
  add(timestamp: number, now: number): void {
    this.#windowEnd ??= now + WINDOW_MS
    if (now >= this.#windowEnd) this.#close(now)
    this.#count += 1
    this.#sum += timestamp - now
  }

  /** Starts again after the publisher's clock jumped. */
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
