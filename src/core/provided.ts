/**
 * Something that one domain needs and a domain above it provides while the node is composed, for example the payer of a
 * workspace for plans. The lower domain declares what it needs, because it cannot import the higher one.
 */
export class Provided<T> {
  readonly #what: string
  #value: T | undefined

  /** @param what it is, for the error when it was not provided */
  constructor(what: string) {
    this.#what = what
  }

  /** @throws Error when it was provided before */
  provide(value: T): void {
    if (this.#value !== undefined) throw new Error(`${this.#what} were provided twice`)
    this.#value = value
  }

  /** @throws Error when no domain has provided it */
  get(): T {
    if (this.#value === undefined) throw new Error(`no domain provides ${this.#what}`)
    return this.#value
  }
}
