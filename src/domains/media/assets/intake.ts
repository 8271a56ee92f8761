import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Storage } from '../../../storage/storage.ts'
import { HEAD_BYTES, inspectHead, inspectWhole, type Inspected } from '../../../content/inspect.ts'
import { DamagedFile } from '../../../content/errors.ts'
import { StorageLimit } from './errors.ts'

/** A file that has come, was looked at and is stored. */
export interface Received extends Inspected {
  readonly fileId: string
  readonly sha256: string
  readonly size: number
}

export function fileKey(workspaceId: string, fileId: string): string {
  return `${workspaceId}/${fileId}`
}

/** Takes files in: judges them by their content, stores them as they come, and knows them again by their hash. */
export class Intake {
  readonly #storage: Storage
  readonly #clock: Clock

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
  }

  /**
   * Stores a stream. What is no good is refused by its beginning, before the rest is taken.
   * @param most bytes that there is room for
   * @throws AppError of the inspection, storage_limit_reached, storage_full; nothing is kept then
   */
  async receive(workspaceId: string, stream: Readable, name: string, most: number): Promise<Received> {
    const fileId = uuidv7(this.#clock.now())
    const key = fileKey(workspaceId, fileId)
    let isStored = false
    try {
      const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
      const head = await takeHead(chunks)
      const found = await inspectHead(head.subarray(0, HEAD_BYTES), name)
      const hash = createHash('sha256')
      const body = Readable.from(metered(head, chunks, hash, most), { objectMode: false })
      const { size } = await this.#storage.put(key, body, { type: found.type })
      isStored = true
      await this.#whole(key, found, size)
      return { ...found, fileId, sha256: hash.digest('hex'), size }
    } catch (error) {
      stream.destroy()
      if (isStored) await this.discard(workspaceId, fileId)
      throw error
    }
  }

  /** Looks at a file that is stored already, which stays. @throws AppError of the inspection */
  async examine(workspaceId: string, fileId: string, name: string): Promise<Received> {
    const key = fileKey(workspaceId, fileId)
    const { size } = (await this.#storage.stat(key)) ?? { size: 0 }
    const found = await inspectHead(await this.#read(key, 0, Math.min(size, HEAD_BYTES)), name)
    await this.#whole(key, found, size)
    const hash = createHash('sha256')
    const content = await this.#storage.blocks(key)
    if (content === undefined) throw DamagedFile()
    for await (const chunk of content) hash.update(chunk)
    return { ...found, fileId, sha256: hash.digest('hex'), size }
  }

  /** Forgets a file that no asset shows. */
  async discard(workspaceId: string, fileId: string): Promise<void> {
    await this.#storage.delete(fileKey(workspaceId, fileId))
  }

  #whole(key: string, found: Inspected, size: number): Promise<void> {
    return inspectWhole(found, size, (start, length) => this.#read(key, start, Math.min(length, size - start)))
  }

  async #read(key: string, start: number, length: number): Promise<Buffer> {
    if (length <= 0) return Buffer.alloc(0)
    const part = await this.#storage.get(key, { start, end: start + length - 1 })
    return part ? buffer(part) : Buffer.alloc(0)
  }
}

async function takeHead(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  const taken: Buffer[] = []
  for (let length = 0; length < HEAD_BYTES;) {
    const next = await chunks.next()
    if (next.done) break
    taken.push(next.value)
    length += next.value.length
  }
  return Buffer.concat(taken)
}

async function* metered(
  head: Buffer,
  rest: AsyncIterator<Buffer>,
  hash: ReturnType<typeof createHash>,
  most: number,
): AsyncGenerator<Buffer> {
  let size = 0
  const counted = (chunk: Buffer): Buffer => {
    size += chunk.length
    if (size > most) throw StorageLimit()
    hash.update(chunk)
    return chunk
  }
  try {
    yield counted(head)
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield counted(next.value)
  } finally {
    await rest.return?.()
  }
}
