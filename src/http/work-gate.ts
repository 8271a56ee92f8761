/** Counts requests that are being worked on, and lets no more than so many in. */
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

  /** @returns false when there is no room; only who was let in leaves */
  enter(): boolean {
    if (this.isFull) return false
    this.#count += 1
    return true
  }

  leave(): void {
    this.#count -= 1
  }
}
