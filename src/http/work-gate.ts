/** Counts the requests in progress and limits their number. */
export class WorkGate {
  readonly #most: number
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  get isFull(): boolean {
    return this.#count >= this.#most
  }

  /** @returns false when the limit is reached; then `leave` must not be called */
  enter(): boolean {
    if (this.isFull) return false
    this.#count += 1
    return true
  }

  leave(): void {
    this.#count -= 1
  }
}
