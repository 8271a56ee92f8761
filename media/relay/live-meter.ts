/** A longer gap between two messages does not count as usage. */
const MAX_GAP_MS = 2_000

/** Measures how long media was received while the stream was live. Times are monotonic milliseconds. */
export class LiveMeter {
  #live = false
  #lastMediaAt: number | null = null
  #total = 0
  #session = 0

  /** Since this node first had the stream. */
  get totalMs(): number {
    return Math.round(this.#total)
  }

  /** Of the active publisher. */
  get sessionMs(): number {
    return Math.round(this.#session)
  }

  /** Starts counting for a publisher. @param countedMs its usage from earlier, if it has fed the stream before */
  beginSession(countedMs = 0): void {
    this.#session = countedMs
    this.#lastMediaAt = null
  }

  setLive(live: boolean): void {
    if (live !== this.#live) this.#lastMediaAt = null
    this.#live = live
  }

  noteMedia(now: number): void {
    if (!this.#live) return
    const passed = this.#lastMediaAt === null ? 0 : now - this.#lastMediaAt
    if (passed <= MAX_GAP_MS) {
      this.#total += passed
      this.#session += passed
    }
    this.#lastMediaAt = now
  }
}
