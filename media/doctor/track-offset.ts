type Track = 'audio' | 'video'

/** The smallest offset within this time counts, because encoders and networks delay a track for a while. */
const WINDOW_MS = 2_000

/**
 * Measures the offset between audio and video timestamps that arrive together. Encoders interleave both tracks, so the
 * offset is small. If it is not, players show one track late. A track that pauses, bursts and jitter do not count,
 * because the smallest offset of each window is taken.
 */
export class TrackOffset {
  readonly #last: { audio: number | null; video: number | null } = { audio: null, video: null }
  #windowEnd: number | null = null
  #least: number | null = null
  readonly #seen = { audio: false, video: false }
  #seconds: number | null = null

  /** Seconds by which audio is ahead of video in the last complete window; negative when behind. Null before one. */
  get seconds(): number | null {
    return this.#seconds
  }

  /** Adds a frame with this timestamp that arrived at `now`, both in milliseconds. */
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

  /** Starts again after the publisher's clock jumped. */
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
