import { open, type FileHandle } from 'node:fs/promises'
import { PlayoutError } from './errors.ts'

/** Bytes of one read. Audio and video are interleaved, so one block usually serves both. */
const BLOCK_BYTES = 512 * 1024

interface Block {
  readonly start: number
  readonly bytes: Buffer
}

/** Reads a file in large blocks and keeps two of them, one for each track. */
export class BufferedFile {
  readonly #handle: FileHandle
  #blocks: Block[] = []

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  static async open(path: string): Promise<BufferedFile> {
    return new BufferedFile(await open(path))
  }

  /** Copies a part of the file to `target` at `offset`. @throws PlayoutError when the file is too short */
  async copy(position: number, length: number, target: Buffer, offset: number): Promise<void> {
    const block = this.#find(position, length) ?? (await this.#read(position, length))
    block.bytes.copy(target, offset, position - block.start, position - block.start + length)
  }

  async close(): Promise<void> {
    this.#blocks = []
    await this.#handle.close()
  }

  #find(position: number, length: number): Block | undefined {
    return this.#blocks.find(({ bytes, start }) => position >= start && position + length <= start + bytes.length)
  }

  async #read(position: number, length: number): Promise<Block> {
    const bytes = Buffer.allocUnsafe(Math.max(BLOCK_BYTES, length))
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, position)
    if (bytesRead < length) throw new PlayoutError('The file is shorter than expected.')
    const block = { start: position, bytes: bytes.subarray(0, bytesRead) }
    this.#blocks = [block, ...this.#blocks].slice(0, 2)
    return block
  }
}
