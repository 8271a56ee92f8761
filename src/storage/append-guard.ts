import { Conflict } from '../core/errors.ts'

/** Lets one request at a time add to an upload on this node, and only where the one before has ended. */
export class AppendGuard {
  readonly #busy = new Set<string>()

  /**
   * Runs `write` when nothing else adds to the upload and it has `offset` bytes.
   * @throws AppError conflict, with the place to go on
   */
  async run<T>(
    { id, length, offset }: { id: string; offset: number; length: () => Promise<number> },
    write: () => Promise<T>,
  ): Promise<T> {
    if (this.#busy.has(id)) {
      throw Conflict({ message: 'Another request is sending to this upload right now.', retryAfter: 1 })
    }
    this.#busy.add(id)
    try {
      const there = await length()
      if (there !== offset) {
        throw Conflict({ message: `The upload has ${there} bytes: go on there.`, details: { received: there } })
      }
      return await write()
    } finally {
      this.#busy.delete(id)
    }
  }
}
