/** Timestamps of a track may go back by this much, milliseconds. */
const JITTER_MS = 1_000
/** 32-bit timestamps wrap at this value. */
const WRAP = 0x1_0000_0000
const HALF_WRAP = 0x8000_0000
/** A first frame within this time after the sequence header continues its timestamp, also across the wrap. */
const START_MS = 60_000

/**
 * Converts the 32-bit timestamps of a publisher to milliseconds that neither wrap nor jump back.
 *
 * - A large step back is a wrap. A step of almost 2^32 forward is a step back across the wrap.
 * - A step back of up to a second within a track is jitter and stays. A larger one means that the encoder restarted its
 *   clock: an offset continues the timestamps. It applies to both tracks, so that audio and video stay in sync.
 * - Steps forward stay.
 * - Sequence headers and data often have timestamp 0, so they do not affect frames. One that is not at the end of its
 *   track is moved there. Timed headers keep their timestamp, because one track may lag behind the other by seconds while
 *   its encoder starts.
 */
export class TimestampNormalizer {
  #lastInput: number | null = null
  #lastUnwrapped = 0
  #offset = 0
  #highest = 0
  #hasFrame = false
  #firstNonFrame: number | null = null
  readonly #lastOfTrack = new Map<string, number>()
  readonly #headersAreTimed: boolean
  /** How often the publisher's clock jumped back. */
  discontinuities = 0

  /** @param headersAreTimed whether a sequence header has the timestamp of the next frame */
  constructor(headersAreTimed = false) {
    this.#headersAreTimed = headersAreTimed
  }

  /** Converts the timestamp of a frame. */
  frame(track: string, timestamp: number): number {
    const unwrapped = this.#unwrap(timestamp)
    this.#lastInput = timestamp
    this.#lastUnwrapped = unwrapped
    this.#hasFrame = true
    let value = unwrapped + this.#offset
    const last = this.#lastOfTrack.get(track)
    if (value < 0 || (last !== undefined && value < last - JITTER_MS)) {
      this.discontinuities += 1
      this.#offset += this.#highest - value
      value = this.#highest
    }
    this.#lastOfTrack.set(track, value)
    this.#highest = Math.max(this.#highest, value)
    return value
  }

  /** Converts the timestamp of a sequence header or data message. */
  nonFrame(track: string, timestamp: number): number {
    if (!this.#hasFrame) {
      this.#firstNonFrame ??= timestamp
      return timestamp
    }
    const value = this.#unwrap(timestamp) + this.#offset
    if (this.#headersAreTimed) return Math.max(0, value)
    const last = this.#lastOfTrack.get(track) ?? this.#highest
    if (value < last - JITTER_MS) return last
    return value > this.#highest + JITTER_MS ? this.#highest : value
  }

  #unwrap(timestamp: number): number {
    if (this.#lastInput === null) {
      const sinceHeader = this.#firstNonFrame === null ? -1 : (timestamp - this.#firstNonFrame) | 0
      return sinceHeader >= 0 && sinceHeader <= START_MS ? this.#firstNonFrame! + sinceHeader : timestamp
    }
    const step = timestamp - this.#lastInput
    if (step < -HALF_WRAP) return this.#lastUnwrapped + step + WRAP
    const stepBackOverWrap = step - WRAP
    return this.#lastUnwrapped + (stepBackOverWrap > -START_MS ? stepBackOverWrap : step)
  }
}
