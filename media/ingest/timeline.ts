/** Greatest step back, in milliseconds, that passes as the jitter of an encoder. */
const JITTER_MS = 1_000
const CIRCLE = 0x1_0000_0000
const HALF_CIRCLE = 0x8000_0000
/** A first frame this soon after a header's timestamp is taken as following it, across the 32-bit wrap too. */
const START_MS = 60_000

/**
 * Lays the 32-bit timestamps of one publisher on a line that neither wraps nor jumps back.
 *
 * The choices: a great step down is a wrap, and a step that looks like 49 days up is one back over the wrap. Both
 * tracks share one line, so audio and video stay in step. A step back of up to a second within a track passes as
 * jitter. A greater one means that the encoder restarted its clock: the line goes on where it was, and the offset
 * found then holds for both tracks. Steps forward pass as they are. Headers and data often carry 0 regardless of
 * the time, so they never move the line. One that is not at the end of its own track is moved there. Where headers are
 * known to carry the time of the frame behind them, they keep it: one track may lag behind the other by seconds while
 * its encoder starts.
 */
export class Timeline {
  #lastWire: number | null = null
  #lastRaw = 0
  #offset = 0
  #highest = 0
  #frameSeen = false
  #firstAside: number | null = null
  readonly #lastOfTrack = new Map<string, number>()
  readonly #headersAreTimed: boolean
  /** How often the publisher's clock was found to have jumped back. */
  discontinuities = 0

  /** @param headersAreTimed whether headers carry the time of the frame behind them */
  constructor(headersAreTimed = false) {
    this.#headersAreTimed = headersAreTimed
  }

  /** Milliseconds on the line for a frame of `track` that came with `wire`. */
  frame(track: string, wire: number): number {
    const raw = this.#unwrap(wire)
    this.#lastWire = wire
    this.#lastRaw = raw
    this.#frameSeen = true
    let value = raw + this.#offset
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

  /** The same for a message that is no frame: a header or data. */
  aside(track: string, wire: number): number {
    if (!this.#frameSeen) {
      this.#firstAside ??= wire
      return wire
    }
    const value = this.#unwrap(wire) + this.#offset
    if (this.#headersAreTimed) return Math.max(0, value)
    const last = this.#lastOfTrack.get(track) ?? this.#highest
    if (value < last - JITTER_MS) return last
    return value > this.#highest + JITTER_MS ? this.#highest : value
  }

  #unwrap(wire: number): number {
    if (this.#lastWire === null) {
      const sinceHeader = this.#firstAside === null ? -1 : (wire - this.#firstAside) | 0
      return sinceHeader >= 0 && sinceHeader <= START_MS ? this.#firstAside! + sinceHeader : wire
    }
    const step = wire - this.#lastWire
    if (step < -HALF_CIRCLE) return this.#lastRaw + step + CIRCLE
    const backOverZero = step - CIRCLE
    return this.#lastRaw + (backOverZero > -START_MS ? backOverZero : step)
  }
}
