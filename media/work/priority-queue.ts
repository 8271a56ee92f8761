/** A queue with priorities. Higher priorities are first. Items of the same priority are first in, first out. */
export class PriorityQueue<T> {
  readonly #byPriority = new Map<number, Set<{ item: T }>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds an item. @returns a function that removes it again, and returns whether it was still queued */
  add(item: T, priority: number): () => boolean {
    const entries = this.#byPriority.get(priority) ?? new Set()
    this.#byPriority.set(priority, entries)
    const entry = { item }
    entries.add(entry)
    this.#size += 1
    return () => this.#remove(priority, entry)
  }

  take(): T | undefined {
    if (this.#size === 0) return undefined
    const highest = Math.max(...this.#byPriority.keys())
    for (const entry of this.#byPriority.get(highest) ?? []) {
      this.#remove(highest, entry)
      return entry.item
    }
    return undefined
  }

  #remove(priority: number, entry: { item: T }): boolean {
    const entries = this.#byPriority.get(priority)
    if (entries?.delete(entry) !== true) return false
    if (entries.size === 0) this.#byPriority.delete(priority)
    this.#size -= 1
    return true
  }
}
