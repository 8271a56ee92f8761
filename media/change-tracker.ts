/**
 * Detects changes that happen while a request is in flight. A reply to a request that was sent before a change must not
 * undo that change.
 */
export class ChangeTracker {
  /** One set for each request in flight: the ids that have changed since it was sent. */
  readonly #inFlight = new Set<Set<string>>()

  /** Records a change of `id`. */
  changed(id: string): void {
    for (const seen of this.#inFlight) seen.add(id)
  }

  /** Runs `request`. It gets a function that returns whether an id has changed since `request` was called. */
  async during<T>(request: (changed: (id: string) => boolean) => Promise<T>): Promise<T> {
    const seen = new Set<string>()
    this.#inFlight.add(seen)
    try {
      return await request((id) => seen.has(id))
    } finally {
      this.#inFlight.delete(seen)
    }
  }
}
