/**
 * Extends a counter that wraps (sequence numbers, RTP timestamps) to a number that does not. Consecutive values may differ by up
 * to half the range in either direction.
 */
export class Unwrapper {
  readonly #range: number
  #highest: number | null = null

  /** @param bits width of the counter: 16 or 32 */
  constructor(bits: number) {
    this.#range = 2 ** bits
  }

  /** Unwraps a value and makes it the reference for the next ones if it is the highest. */
  unwrap(value: number): number {
    if (this.#highest === null) {
      this.#highest = value
      return value
    }
    const unwrapped = this.peek(value)
    this.#highest = Math.max(this.#highest, unwrapped)
    return unwrapped
  }

  /** Unwraps a value without changing the reference. Returns the value itself if there is no reference yet. */
  peek(value: number): number {
    if (this.#highest === null) return value
    const range = this.#range
    const from = modulo(this.#highest, range)
    const forward = modulo(value - from, range)
    return this.#highest + (forward < range / 2 ? forward : forward - range)
  }
}

function modulo(value: number, range: number): number {
  return ((value % range) + range) % range
}
