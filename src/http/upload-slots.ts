import { Overloaded, TooManyUploads } from '../core/errors.ts'

/** How many uploads may run at a time, per caller and in total. */
const PER_CALLER = 32
const TOTAL = 512

/**
 * Slots for running uploads. An upload takes as long as its client likes, so it does not count toward the limit of
 * concurrent requests. Its caller is known before the first byte is read.
 */
export class UploadSlots {
  readonly #callers = new Map<string, number>()
  #total = 0

  /**
   * Takes a slot.
   * @param caller the user's id, or the network of a client that uses a signed URL
   * @returns a function that releases the slot
   * @throws AppError too_many_uploads, overloaded
   */
  enter(caller: string): () => void {
    const own = this.#callers.get(caller) ?? 0
    if (own >= PER_CALLER) throw TooManyUploads({ retryAfter: 5 })
    if (this.#total >= TOTAL) throw Overloaded({ retryAfter: 5 })
    this.#callers.set(caller, own + 1)
    this.#total += 1
    return () => {
      const left = (this.#callers.get(caller) ?? 1) - 1
      if (left === 0) this.#callers.delete(caller)
      else this.#callers.set(caller, left)
      this.#total -= 1
    }
  }
}
