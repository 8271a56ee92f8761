import { Conflict } from '../core/errors.ts'

interface Append {
  readonly id: string
  /** Where the new bytes start. Undefined restarts the upload. */
  readonly offset: number | undefined
  /** Returns the number of received bytes. */
  readonly length: () => Promise<number>
  readonly discard: () => Promise<void>
}

/** Lets one request at a time append to an upload on this node, and only at the end of the received bytes. */
export class AppendGuard {
  readonly #busy = new Set<string>()

  /**
   * Runs `write` if no other request appends to the upload and the upload has `offset` bytes.
   * @throws AppError conflict, with the right offset in its details
   */
  async run<T>({ discard, id, length, offset }: Append, write: (offset: number) => Promise<T>): Promise<T> {
    if (this.#busy.has(id)) {
      throw Conflict({ message: 'Another request is sending to this upload.', retryAfter: 1 })
    }
    this.#busy.add(id)
    try {
      if (offset === undefined) await discard()
      const received = await length()
      if (received !== (offset ?? 0)) {
        throw Conflict({ message: `The upload has ${received} bytes. Continue at this offset.`, details: { received } })
      }
      return await write(received)
    } finally {
      this.#busy.delete(id)
    }
  }
}

/** The error for an upload whose pieces have been deleted. */
export function uploadCancelled() {
  return Conflict({ message: 'The upload has been cancelled.' })
}
