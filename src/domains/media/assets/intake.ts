import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Storage } from '../../../storage/storage.ts'
import { HEAD_BYTES, inspectHead, inspectWhole, type Inspected } from '../../../content/inspect.ts'
import { DamagedFile } from '../../../content/errors.ts'
import { StorageLimit } from './errors.ts'

/** A file that was received, inspected and stored. */
export interface ReceivedFile extends Inspected {
  readonly fileId: string
  readonly sha256: string
  readonly size: number
}

/** The key of a file in the storage. */
export function fileKey(workspaceId: string, fileId: string): string {
  return `${workspaceId}/${fileId}`
}

/** Receives files: inspects their content, stores them as they arrive, and hashes them. */
export class Intake {
  readonly #storage: Storage
  readonly #clock: Clock

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
  }

  /**
   * Stores a stream. The beginning of the file is inspected before the rest is received.
   * @param maxBytes the reserved storage
   * @param check may refuse the file after its beginning was inspected
   * @throws AppError of the inspection, storage_limit_reached, storage_full. Nothing stays stored then
   */
  async receive(
    workspaceId: string,
    stream: Readable,
    name: string,
    maxBytes: number,
    check?: (found: Inspected) => void,
  ): Promise<ReceivedFile> {
    const fileId = uuidv7(this.#clock.now())
    const key = fileKey(workspaceId, fileId)
    let isStored = false
    try {
      const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
      const head = await readHead(chunks)
      const found = await inspectHead(head.subarray(0, HEAD_BYTES), name)
      check?.(found)
      const hash = createHash('sha256')
      const body = Readable.from(hashed(head, chunks, hash, maxBytes), { objectMode: false })
      const { size } = await this.#storage.put(key, body, { type: found.type })
      isStored = true
      await this.#inspectWhole(key, found, size)
      return { ...found, fileId, sha256: hash.digest('hex'), size }
    } catch (error) {
      stream.destroy()
      if (isStored) await this.discard(workspaceId, fileId)
      throw error
    }
  }

  /** Inspects a stored file. The file stays stored if it is refused. @throws AppError of the inspection */
  async inspect(workspaceId: string, fileId: string, name: string): Promise<ReceivedFile> {
    const key = fileKey(workspaceId, fileId)
    const { size } = (await this.#storage.stat(key)) ?? { size: 0 }
    const found = await inspectHead(await this.#read(key, 0, Math.min(size, HEAD_BYTES)), name)
    await this.#inspectWhole(key, found, size)
    const hash = createHash('sha256')
    const content = await this.#storage.blocks(key)
    if (content === undefined) throw DamagedFile()
    for await (const chunk of content) hash.update(chunk)
    return { ...found, fileId, sha256: hash.digest('hex'), size }
  }

  /** Deletes a file that no asset uses. */
  async discard(workspaceId: string, fileId: string): Promise<void> {
    await this.#storage.delete(fileKey(workspaceId, fileId))
  }

  #inspectWhole(key: string, found: Inspected, size: number): Promise<void> {
    return inspectWhole(found, size, (start, length) => this.#read(key, start, Math.min(length, size - start)))
  }

  async #read(key: string, start: number, length: number): Promise<Buffer> {
    if (length <= 0) return Buffer.alloc(0)
    const part = await this.#storage.get(key, { start, end: start + length - 1 })
    return part ? buffer(part) : Buffer.alloc(0)
  }
}

async function readHead(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  const blocks: Buffer[] = []
  for (let length = 0; length < HEAD_BYTES;) {
    const next = await chunks.next()
    if (next.done) break
    blocks.push(next.value)
    length += next.value.length
  }
  return Buffer.concat(blocks)
}

/** Passes the blocks of a file on, hashes them and enforces the size limit. */
async function* hashed(
  head: Buffer,
  rest: AsyncIterator<Buffer>,
  hash: ReturnType<typeof createHash>,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  let size = 0
  const counted = (chunk: Buffer): Buffer => {
    size += chunk.length
    if (size > maxBytes) throw StorageLimit()
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
