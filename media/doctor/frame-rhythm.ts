/** Frames over which the rhythm is judged. */
const WINDOW = 60
/** Deviation from the mean, as a part of it, beyond which intervals are uneven. Rounding to milliseconds stays far below. */
const UNEVEN = 0.3
/** An interval this long is a pause or a jump, and no matter of rhythm. */
const LONGEST_MS = 2_000

/** Tells a constant frame rate from a varying one, by the spread of the intervals between frames. */
export class FrameRhythm {
  #last: number | null = null
  #count = 0
  #sum = 0
  #squares = 0
  #isUneven = false

  /** Of the last whole window; false until there is one. */
  get isUneven(): boolean {
    return this.#isUneven
  }

  /** @param timestamp decoding time of the next frame, milliseconds */
  add(timestamp: number): void {
    const interval = this.#last === null ? -1 : timestamp - this.#last
    this.#last = timestamp
    if (interval < 0 || interval > LONGEST_MS) return
    this.#count += 1
    this.#sum += interval
    this.#squares += interval * interval
    if (this.#count < WINDOW) return
    const mean = this.#sum / WINDOW
    this.#isUneven = Math.sqrt(Math.max(0, this.#squares / WINDOW - mean * mean)) > mean * UNEVEN
    this.#count = this.#sum = this.#squares = 0
  }
}
