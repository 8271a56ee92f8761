/** First come, first served, among those of the same priority; higher priorities go first. */
export class PriorityQueue<T> {
  readonly #byPriority = new Map<number, Set<{ item: T }>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Returns what takes the item out again; that returns whether it was still in. */
  add(item: T, priority: number): () => boolean {
    const line = this.#byPriority.get(priority) ?? new Set()
    this.#byPriority.set(priority, line)
    const place = { item }
    line.add(place)
    this.#size += 1
    return () => this.#remove(priority, place)
  }

  take(): T | undefined {
    if (this.#size === 0) return undefined
    const highest = Math.max(...this.#byPriority.keys())
    for (const place of this.#byPriority.get(highest) ?? []) {
      this.#remove(highest, place)
      return place.item
    }
    return undefined
  }

  #remove(priority: number, place: { item: T }): boolean {
    const line = this.#byPriority.get(priority)
    if (line?.delete(place) !== true) return false
    if (line.size === 0) this.#byPriority.delete(priority)
    this.#size -= 1
    return true
  }
}
