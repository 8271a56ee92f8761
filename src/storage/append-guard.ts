import { Conflict } from '../core/errors.ts'

interface Appending {
  readonly id: string
  /** Where the new bytes belong; undefined begins anew. */
  readonly offset: number | undefined
  /** Bytes that are there. */
  readonly length: () => Promise<number>
  readonly discard: () => Promise<void>
}

/** Lets one request at a time add to an upload on this node, and only where the one before has ended. */
export class AppendGuard {
  readonly #busy = new Set<string>()

  /**
   * Runs `write` when nothing else adds to the upload and it has `offset` bytes.
   * @throws AppError conflict, with the place to go on
   */
  async run<T>({ discard, id, length, offset }: Appending, write: (offset: number) => Promise<T>): Promise<T> {
    if (this.#busy.has(id)) {
      throw Conflict({ message: 'Another request is sending to this upload right now.', retryAfter: 1 })
    }
    this.#busy.add(id)
    try {
      if (offset === undefined) await discard()
      const there = await length()
      if (there !== (offset ?? 0)) {
        throw Conflict({ message: `The upload has ${there} bytes: go on there.`, details: { received: there } })
      }
      return await write(there)
    } finally {
      this.#busy.delete(id)
    }
  }
}

/** What is said when the pieces of an upload are gone. */
export function dropped() {
  return Conflict({ message: 'The upload was dropped in the meantime.' })
}
