/** Limits concurrent work. Waiters are admitted in order. */
export class Room {
  #free: number
  readonly #waiting: { readonly places: number; readonly enter: () => void }[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Takes places as soon as there are that many. */
  take(places: number): Promise<void> {
    return new Promise((enter) => {
      this.#waiting.push({ places, enter })
      this.#admit()
    })
  }

  /** Gives places back. */
  give(places: number): void {
    this.#free += places
    this.#admit()
  }

  /** Runs work that takes one place. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    await this.take(1)
    try {
      return await work()
    } finally {
      this.give(1)
    }
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined && next.places <= this.#free; next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#free -= next.places
      next.enter()
    }
  }
}
