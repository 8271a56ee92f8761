/**
 * Tells whether something was changed while an answer about it was under way. An answer that was asked for before a
 * change must not undo it.
 */
export class ChangeWatch {
  readonly #watches = new Set<Set<string>>()

  /** Notes a change of `id` for all watches that are open. */
  changed(id: string): void {
    for (const seen of this.#watches) seen.add(id)
  }

  /** Runs `ask`, which gets a function that tells whether an id has changed since. */
  async during<T>(ask: (changed: (id: string) => boolean) => Promise<T>): Promise<T> {
    const seen = new Set<string>()
    this.#watches.add(seen)
    try {
      return await ask((id) => seen.has(id))
    } finally {
      this.#watches.delete(seen)
    }
  }
}
