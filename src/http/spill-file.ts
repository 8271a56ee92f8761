import { closeSync, openSync, read, rmSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'

const readAt = promisify(read)

/** Bytes that are buffered on disk. Writes are synchronous, because the producer cannot wait; reads are in order. */
export class SpillFile {
  readonly #path: string
  readonly #file: number
  #start = 0
  #end = 0
  #reading: Promise<unknown> = Promise.resolve()

  /** @throws Error of the file system, as do all methods */
  constructor(path: string) {
    this.#path = path
    this.#file = openSync(path, 'wx+', 0o600)
  }

  get length(): number {
    return this.#end - this.#start
  }

  write(bytes: Uint8Array): void {
    if (this.length === 0) this.#start = this.#end = 0
    for (let at = 0; at < bytes.length;) {
      const written = writeSync(this.#file, bytes, at, bytes.length - at, this.#end)
      at += written
      this.#end += written
    }
  }

  /** @returns how many bytes of the block were filled */
  async read(block: Buffer): Promise<number> {
    const reading = readAt(this.#file, block, 0, Math.min(block.length, this.length), this.#start)
    this.#reading = reading
    const { bytesRead } = await reading
    this.#start += bytesRead
    return bytesRead
  }

  /** Waits until the current read is done. */
  close(): void {
    const end = () => {
      closeSync(this.#file)
      rmSync(this.#path, { force: true })
    }
    void this.#reading.then(end, end)
  }
}
