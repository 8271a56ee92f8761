/** ffmpeg outputs frames in bursts, so a shorter interval would not measure its speed. */
const MIN_INTERVAL_MS = 3_000

/** Measures the speed of an encoder. Times are monotonic milliseconds. */
export class SpeedMeter {
  #startedAt: number | null = null
  #startTimestamp = 0
  #lastTimestamp = 0
  #value: number | null = null

  /** Seconds of media encoded per second, over the last few seconds. Null before the first measurement. */
  get value(): number | null {
    return this.#value
  }

  /** The encoder output a video frame. @param timestamp media time of the frame, milliseconds */
  frame(timestamp: number, now: number): void {
    this.#lastTimestamp = timestamp
    if (this.#startedAt === null) this.#startInterval(now)
  }

  /** Call it about once a second. */
  tick(now: number): void {
    if (this.#startedAt === null || now - this.#startedAt < MIN_INTERVAL_MS) return
    this.#value = Math.round(((this.#lastTimestamp - this.#startTimestamp) / (now - this.#startedAt)) * 100) / 100
    this.#startInterval(now)
  }

  reset(): void {
    this.#startedAt = null
    this.#value = null
  }

  #startInterval(now: number): void {
    this.#startedAt = now
    this.#startTimestamp = this.#lastTimestamp
  }
}
