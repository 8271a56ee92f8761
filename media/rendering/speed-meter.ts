/** A shorter time says more of how ffmpeg hands frames out than of how fast it is. */
const LEAST_MS = 3_000

/** How much media comes out of an encoder in a second. Times are monotonic milliseconds. */
export class SpeedMeter {
  #at: number | null = null
  #mediaAt = 0
  #newest = 0
  #value: number | null = null

  /** Seconds of media a second, over the last few seconds; null while nothing was measured. */
  get value(): number | null {
    return this.#value
  }

  /** A picture came out. @param timestamp milliseconds on the encoder's line */
  picture(timestamp: number, now: number): void {
    this.#newest = timestamp
    if (this.#at === null) this.#begin(now)
  }

  /** To be called about once a second. */
  tick(now: number): void {
    if (this.#at === null || now - this.#at < LEAST_MS) return
    this.#value = Math.round(((this.#newest - this.#mediaAt) / (now - this.#at)) * 100) / 100
    this.#begin(now)
  }

  reset(): void {
    this.#at = null
    this.#value = null
  }

  #begin(now: number): void {
    this.#at = now
    this.#mediaAt = this.#newest
  }
}
