import { MINUTE } from '../core/clock.ts'

/** Memory for smaller bodies is not kept. */
const SMALLEST = 256 * 1024

/** How much unused memory is kept, in bytes. */
const MAX_KEPT = 64 * 1024 * 1024

/**
 * Memory of large bodies, which is used again: the first use of new memory takes the kernel 1 to 3 ms per megabyte, for
 * which the main thread waits. It is shared memory, so that a thread parses a body without a copy.
 */
export class BodyMemory {
  /** Unused blocks by their size, which is a power of two. */
  readonly #free = new Map<number, SharedArrayBuffer[]>()
  #kept = 0
  #timer: NodeJS.Timeout | undefined

  /** Bytes of unused memory. */
  get kept(): number {
    return this.#kept
  }

  /** A block of at least so many bytes. What an earlier body left in it is still there. */
  take(bytes: number): SharedArrayBuffer {
    if (bytes < SMALLEST) return new SharedArrayBuffer(bytes)
    const size = 2 ** Math.ceil(Math.log2(bytes))
    const free = this.#free.get(size)?.pop()
    if (free === undefined) return new SharedArrayBuffer(size)
    this.#kept -= size
    return free
  }

  /** Takes a block back that nobody reads any more. Unused memory is freed after a minute. */
  give(block: SharedArrayBuffer): void {
    const size = block.byteLength
    if (size < SMALLEST || this.#kept + size > MAX_KEPT) return
    const blocks = this.#free.get(size) ?? []
    this.#free.set(size, blocks)
    blocks.push(block)
    this.#kept += size
    this.#timer ??= setTimeout(() => this.clear(), MINUTE).unref()
    this.#timer.refresh()
  }

  /** Frees the unused memory. */
  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#free.clear()
    this.#kept = 0
  }
}
