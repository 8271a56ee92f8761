import { randomUUID } from 'node:crypto'
import { join } from 'node:path'

export const BLOCK_BYTES = 512 * 1024

/** The limit of blocks for all bodies together: 16 MB. */
const MAX_BLOCKS = 32

/** Memory for bodies that arrive faster than they are read. Blocks are reused and never garbage collected. */
export class ReceiveBuffers {
  readonly #folder: string
  readonly #free: Buffer[] = []
  #made = 0

  /** @param folder for bytes that do not fit in memory; it is emptied when the node starts */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Undefined when all blocks are in use. */
  take(): Buffer | undefined {
    const free = this.#free.pop()
    if (free !== undefined || this.#made === MAX_BLOCKS) return free
    this.#made += 1
    return Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  give(block: Buffer): void {
    this.#free.push(block)
  }

  newFile(): string {
    return join(this.#folder, `body-${randomUUID()}`)
  }
}
