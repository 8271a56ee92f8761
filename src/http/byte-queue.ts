import { BLOCK_BYTES, type ReceiveBuffers } from './receive-buffers.ts'
import { SpillFile } from './spill-file.ts'

interface Part {
  readonly block: Buffer
  filled: number
}

/**
 * A queue of bytes between a producer that cannot be stopped and a consumer. It is held in memory while blocks are
 * free.
 */
export class ByteQueue {
  readonly #buffers: ReceiveBuffers
  readonly #parts: Part[] = []
  #inMemory = 0
  #spill: SpillFile | undefined
  /** The block that was handed out last. It is reused when the next one is requested. */
  #lent: Buffer | undefined

  constructor(buffers: ReceiveBuffers) {
    this.#buffers = buffers
  }

  get length(): number {
    return this.#inMemory + (this.#spill?.length ?? 0)
  }

  /** Copies the bytes. @throws Error of the file system */
  write(bytes: Uint8Array): void {
    let rest = bytes
    while (rest.length > 0 && !this.#spill?.length) {
      const part = this.#room()
      if (part === undefined) break
      const taken = rest.subarray(0, BLOCK_BYTES - part.filled)
      part.block.set(taken, part.filled)
      part.filled += taken.length
      this.#inMemory += taken.length
      rest = rest.subarray(taken.length)
    }
    if (rest.length > 0) (this.#spill ??= new SpillFile(this.#buffers.newFile())).write(rest)
  }

  /** The next bytes, valid until the next call; undefined if the queue is empty. */
  async read(): Promise<Buffer | undefined> {
    this.release()
    const part = this.#parts.shift()
    if (part) {
      this.#lent = part.block
      this.#inMemory -= part.filled
      return part.block.subarray(0, part.filled)
    }
    if (!this.#spill?.length) return undefined
    const block = this.#buffers.take()
    const into = block ?? Buffer.allocUnsafeSlow(64 * 1024)
    this.#lent = block
    const filled = await this.#spill.read(into)
    return into.subarray(0, filled)
  }

  /** Releases the block that was handed out last. */
  release(): void {
    if (this.#lent) this.#buffers.give(this.#lent)
    this.#lent = undefined
  }

  /**
   * Drops the queued bytes. The block that was handed out stays until it is released, because it may still be in use.
   */
  close(): void {
    for (const { block } of this.#parts.splice(0)) this.#buffers.give(block)
    this.#inMemory = 0
    this.#spill?.close()
    this.#spill = undefined
  }

  #room(): Part | undefined {
    const last = this.#parts.at(-1)
    if (last && last.filled < BLOCK_BYTES) return last
    const block = this.#buffers.take()
    if (block === undefined) return undefined
    const part = { block, filled: 0 }
    this.#parts.push(part)
    return part
  }
}
