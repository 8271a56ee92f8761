/** Intervals per measurement. */
const WINDOW = 60
/** Standard deviation, relative to the mean, above which intervals are uneven. Rounding to milliseconds stays far below. */
const UNEVEN = 0.3
/** Longer intervals are pauses or clock jumps and are ignored. */
const MAX_INTERVAL_MS = 2_000

/** Detects a varying frame rate by the standard deviation of the frame intervals. */
export class FrameIntervals {
  #last: number | null = null
  #count = 0
  #sum = 0
  #squares = 0
  #isUneven = false

  /** Result of the last complete window; false until there is one. */
  get isUneven(): boolean {
    return this.#isUneven
  }

  /** Adds the next frame. @param timestamp decoding time, milliseconds */
  add(timestamp: number): void {
    const interval = this.#last === null ? -1 : timestamp - this.#last
    this.#last = timestamp
    if (interval < 0 || interval > MAX_INTERVAL_MS) return
    this.#count += 1
    this.#sum += interval
    this.#squares += interval * interval
    if (this.#count < WINDOW) return
    const mean = this.#sum / WINDOW
    this.#isUneven = Math.sqrt(Math.max(0, this.#squares / WINDOW - mean * mean)) > mean * UNEVEN
    this.#count = this.#sum = this.#squares = 0
  }
}
