import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { MediaWorkError } from './errors.ts'

const SAMPLE_BYTES = 65_536
const MAX_FILES = 1_000

/** Files that killed a process twice, recognized by their size, first and last bytes. They are not processed again. */
export class HostileFiles {
  readonly #known = new Set<string>()

  async add(path: string): Promise<void> {
    const hash = await fingerprint(path)
    if (hash === undefined) return
    this.#known.add(hash)
    for (const oldest of this.#known) {
      if (this.#known.size <= MAX_FILES) break
      this.#known.delete(oldest)
    }
  }

  /** Refuses a hostile file. @throws MediaWorkError `hostile` */
  async check(path: string): Promise<void> {
    if (this.#known.size === 0) return
    const hash = await fingerprint(path)
    if (hash !== undefined && this.#known.has(hash)) {
      throw new MediaWorkError('hostile', 'The file has crashed every process that opened it.')
    }
  }
}

/** Undefined if the file cannot be read. The job itself will report that error. */
async function fingerprint(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path)
    const { size } = await file.stat()
    const hash = createHash('sha256').update(String(size))
    for (const position of [0, Math.max(0, size - SAMPLE_BYTES)]) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, position)
      hash.update(buffer.subarray(0, bytesRead))
    }
    return hash.digest('hex')
  } catch {
    return undefined
  }
}
