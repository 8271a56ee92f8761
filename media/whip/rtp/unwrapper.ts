/** Lays a counter that wraps (sequence numbers, RTP timestamps) on a line. Steps of up to half a circle either way are understood. */
export class Unwrapper {
  readonly #circle: number
  #highest: number | null = null

  /** @param bits width of the counter: 16 or 32 */
  constructor(bits: number) {
    this.#circle = 2 ** bits
  }

  unwrap(value: number): number {
    if (this.#highest === null) {
      this.#highest = value
      return value
    }
    const placed = this.peek(value)
    this.#highest = Math.max(this.#highest, placed)
    return placed
  }

  /** Where a value lies, without moving on; itself before the first. */
  peek(value: number): number {
    if (this.#highest === null) return value
    const circle = this.#circle
    const from = modulo(this.#highest, circle)
    const forward = modulo(value - from, circle)
    return this.#highest + (forward < circle / 2 ? forward : forward - circle)
  }
}

function modulo(value: number, circle: number): number {
  return ((value % circle) + circle) % circle
}
