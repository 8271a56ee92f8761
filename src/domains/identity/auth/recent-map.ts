/**
 * A bounded map that evicts entries that were not read recently. It has two generations instead of an ordered list: a hit
 * in the young one costs one lookup and moves nothing. When the young one is full it becomes the old one, from which
 * entries return when they are read. Holds up to twice `capacity` entries.
 */
export class RecentMap<V> {
  readonly #capacity: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(key: string): V | undefined {
    const found = this.#young.get(key)
    if (found !== undefined) return found
    const older = this.#old.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  /** Reads an entry without marking it as recently used. */
  peek(key: string): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  /** Removes every entry that passes the test. */
  deleteWhere(test: (value: V) => boolean): void {
    for (const generation of [this.#young, this.#old]) {
      for (const [key, value] of generation) if (test(value)) generation.delete(key)
    }
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
  }
}
