import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { MediaWorkError } from './errors.ts'

const SAMPLE_BYTES = 65_536
const REMEMBERED = 1_000

/** Files that ended a process twice, known by their size and both ends: such a file is not given to another process. */
export class Suspects {
  readonly #known = new Set<string>()

  async add(path: string): Promise<void> {
    const print = await fingerprint(path)
    if (print === undefined) return
    this.#known.add(print)
    for (const oldest of this.#known) {
      if (this.#known.size <= REMEMBERED) break
      this.#known.delete(oldest)
    }
  }

  /** @throws MediaWorkError `hostile` */
  async refuse(path: string): Promise<void> {
    if (this.#known.size === 0) return
    const print = await fingerprint(path)
    if (print !== undefined && this.#known.has(print)) {
      throw new MediaWorkError('hostile', 'The file has ended every process that worked on it.')
    }
  }
}

/** Undefined when it cannot be read: whoever works on it will say why. */
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
