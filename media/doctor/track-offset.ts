type Track = 'audio' | 'video'

/** Encoders and networks hold a track back for a while; what counts is the least difference within this time. */
const WINDOW_MS = 2_000

/**
 * How far the timestamps of sound and picture lie apart when they arrive. Encoders send both interleaved, so the
 * difference stays small; where it does not, players show one of them late. A track that stops, a burst and an uneven
 * pace leave at least one moment in a window at which both were together, so that they count for nothing.
 */
export class TrackOffset {
  readonly #last: { audio: number | null; video: number | null } = { audio: null, video: null }
  #windowEnd: number | null = null
  #least: number | null = null
  readonly #seen = { audio: false, video: false }
  #seconds: number | null = null

  /** By how much sound is ahead of the picture (positive) or behind it, in the last whole window; null before one. */
  get seconds(): number | null {
    return this.#seconds
  }

  /** A frame with this timestamp arrived at `now`, both in milliseconds. */
  add(track: Track, timestamp: number, now: number): void {
    this.#windowEnd ??= now + WINDOW_MS
    if (now >= this.#windowEnd) this.#close(now)
    this.#last[track] = timestamp
    this.#seen[track] = true
    const { audio, video } = this.#last
    if (audio === null || video === null) return
    const difference = audio - video
    if (this.#least === null || Math.abs(difference) < Math.abs(this.#least)) this.#least = difference
  }

  /** The publisher's clock has jumped: each track counts from its next frame. */
  restart(): void {
    this.#last.audio = this.#last.video = null
    this.#windowEnd = null
    this.#reset()
  }

  #close(now: number): void {
    const isWhole = this.#seen.audio && this.#seen.video && this.#least !== null
    this.#seconds = isWhole ? this.#least! / 1_000 : null
    this.#reset()
    this.#windowEnd = now + WINDOW_MS
  }

  #reset(): void {
    this.#least = null
    this.#seen.audio = this.#seen.video = false
  }
}
