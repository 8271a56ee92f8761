/** A publisher that sends nothing for longer than this is not streaming meanwhile. */
const LONGEST_GAP_MS = 2_000

/** Counts the time during which media is taken in while the stream is live. Times are monotonic milliseconds. */
export class LiveMeter {
  #live = false
  #lastMediaAt: number | null = null
  #total = 0
  #session = 0

  /** Since this node first saw the stream. */
  get totalMs(): number {
    return Math.round(this.#total)
  }

  /** Since the present publisher began. */
  get sessionMs(): number {
    return Math.round(this.#session)
  }

  /** @param countedMs what was counted for this publisher before, if it has fed the stream before */
  beginSession(countedMs = 0): void {
    this.#session = countedMs
    this.#lastMediaAt = null
  }

  setLive(live: boolean): void {
    if (live !== this.#live) this.#lastMediaAt = null
    this.#live = live
  }

  media(now: number): void {
    if (!this.#live) return
    const passed = this.#lastMediaAt === null ? 0 : now - this.#lastMediaAt
    if (passed <= LONGEST_GAP_MS) {
      this.#total += passed
      this.#session += passed
    }
    this.#lastMediaAt = now
  }
}
