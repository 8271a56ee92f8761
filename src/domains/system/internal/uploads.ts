import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { DAY } from '../../../core/clock.ts'
import { PayloadTooLarge } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Upload } from '../../../core/upload.ts'
import type { WorkerGrant } from '../../../core/worker-grant.ts'
import { anyOf, lessThan } from '../../../db/condition.ts'
import { deleteInBatches, inBatches } from '../../../db/delete-in-batches.ts'
import type { Foundation } from '../../../foundation.ts'
import { WorkerContentWrong } from './errors.ts'
import { MAX_UPLOAD_BYTES, type StoredUploadData } from './schemas.ts'
import { workerRequests, workerUploads } from './tables.ts'

/** How long an upload is kept. */
const KEPT_MS = 7 * DAY

type Parts = Pick<Foundation, 'clock' | 'database' | 'storage'>

/** Files that workers send to the server. */
export class WorkerUploads {
  readonly #foundation: Parts

  constructor(foundation: Parts) {
    this.#foundation = foundation
  }

  /**
   * Stores the signed file.
   * @throws AppError payload_too_large; worker_content_wrong; storage_full. Nothing stays stored then
   */
  async take({ ownerId, sha256, size }: WorkerGrant, upload: Upload): Promise<StoredUploadData> {
    if (size > MAX_UPLOAD_BYTES) {
      throw PayloadTooLarge({ message: `The file has ${size} bytes. At most ${MAX_UPLOAD_BYTES} are allowed.` })
    }
    const { clock, database, storage } = this.#foundation
    const now = clock.now()
    const id = uuidv7(now)
    const path = `${ownerId}/${id}`
    const body = Readable.from(checked(upload.stream, sha256, size), { objectMode: false })
    await storage.put(path, body, { type: 'application/octet-stream' })
    const createdAt = new Date(now)
    const expiresAt = new Date(now + KEPT_MS)
    try {
      await workerUploads.insert(database, { id, ownerId, name: upload.name, size, sha256, createdAt, expiresAt })
    } catch (error) {
      await storage.delete(path)
      throw error
    }
    return {
      path,
      name: upload.name,
      size,
      sha256,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
    }
  }

  /** Deletes expired uploads and the records of expired signatures. */
  async sweep(): Promise<void> {
    const { clock, database, storage } = this.#foundation
    const expiresAt = lessThan(new Date(clock.now()))
    await deleteInBatches(workerRequests, database, { expiresAt })
    await inBatches(async (limit) => {
      const deleted = await workerUploads.deleteSome(database, { expiresAt }, limit, ['id', 'ownerId'])
      for (const { id, ownerId } of deleted) await storage.delete(`${ownerId}/${id}`)
      return deleted
    })
  }
}

/** Which of some files are uploads of workers. */
export async function findWorkerUploads(sql: Sql, ids: readonly string[]): Promise<string[]> {
  return (await workerUploads.find(sql, { id: anyOf(ids) }, { columns: ['id'] })).map(({ id }) => id)
}

/** The chunks of the file. @throws AppError worker_content_wrong at its end, or as soon as it is too long */
async function* checked(chunks: AsyncIterable<Buffer>, sha256: string, size: number): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let received = 0
  for await (const chunk of chunks) {
    received += chunk.length
    if (received > size) throw WorkerContentWrong()
    hash.update(chunk)
    yield chunk
  }
  if (received !== size || hash.digest('hex') !== sha256) throw WorkerContentWrong()
}
