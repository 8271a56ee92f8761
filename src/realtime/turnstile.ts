/**
 * Lets so many work at a time; the others wait in line. Without it a crowd that comes back at once asks the database
 * for everything together, and nobody is answered before they have given up.
 */
export class Turnstile {
  readonly #most: number
  readonly #line: (() => void)[] = []
  #inside = 0

  constructor(most: number) {
    this.#most = most
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#most) await new Promise<void>((resolve) => this.#line.push(resolve))
    else this.#inside += 1
    try {
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next) next()
      else this.#inside -= 1
    }
  }
}
