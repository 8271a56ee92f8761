import { UploadMismatch } from '../errors.ts'
import { fileKey, type Intake, type ReceivedFile } from '../intake.ts'
import type { Quota } from '../quota.ts'
import { AppError } from '../../../../core/error.ts'
import { Conflict } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Foundation } from '../../../../foundation.ts'
import type { UploadState } from './schemas.ts'
import { uploads, type UploadRow } from '../tables.ts'
import { requireUpload, rejectionReason } from './store.ts'

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'storage'> & {
  readonly quota: Quota
  readonly intake: Intake
}

/** Turns the received bytes of an upload into a stored file and inspects it. */
export class UploadFinishing {
  readonly #dependencies: Dependencies
  readonly #running = new Map<string, Promise<UploadRow>>()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Finishes an upload whose bytes have all been received. Concurrent calls share one run and its result.
   * @throws AppError of the inspection, upload_mismatch, conflict if bytes are missing or the upload was cancelled
   */
  finish(row: UploadRow): Promise<UploadRow> {
    const running = this.#running.get(row.id)
    if (running !== undefined) return running
    const finishing = this.#run(row).finally(() => this.#running.delete(row.id))
    this.#running.set(row.id, finishing)
    return finishing
  }

  /**
   * Copies the received bytes to a key that no request and no signed URL can write to, so that the inspected bytes cannot
   * change. The received bytes are deleted afterwards. If the storage fails, the upload stays as it was.
   */
  async #run(given: UploadRow): Promise<UploadRow> {
    const { clock, intake, database: sql, storage } = this.#dependencies
    // Another node may have finished it since the row was read.
    const row = await requireUpload(sql, given.id)
    if (row.state === 'failed') throw Conflict({ message: rejectionReason(row, clock.now()) })
    if (row.state !== 'open') return row
    const [sentKey, fileId] = [fileKey(row.workspaceId, row.id), uuidv7(clock.now())]
    const key = fileKey(row.workspaceId, fileId)
    if (row.target === 'api') await storage.pieces.finish(row.id, key)
    else if ((await storage.stat(sentKey)) === undefined) throw Conflict({ message: rejectionReason(row, clock.now()) })
    else await storage.copy(sentKey, key)
    const result = await this.#inspect(row, fileId)
    if (row.target === 'api') await storage.pieces.discard(row.id)
    else await storage.delete(sentKey)
    if (result instanceof AppError) throw result
    if (result) return result
    // The upload was cancelled, or another node has finished it first.
    await intake.discard(row.workspaceId, fileId)
    return requireUpload(sql, row.id)
  }

  /** @returns the upload in its new state, undefined if it was no longer open, or the error that ends the upload */
  async #inspect(row: UploadRow, fileId: string): Promise<UploadRow | AppError | undefined> {
    try {
      return await this.#move(row, 'received', null, await this.#inspectFile(row, fileId))
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      if (await this.#move(row, 'failed', error.message, null)) await this.#dependencies.quota.release(row.id)
      return error
    }
  }

  /** Inspects the stored file. Deletes it if it is refused or cannot be inspected. */
  async #inspectFile(row: UploadRow, fileId: string): Promise<ReceivedFile> {
    const { intake } = this.#dependencies
    try {
      const file = await intake.inspect(row.workspaceId, fileId, row.name)
      requireMatch(row, file)
      return file
    } catch (error) {
      await intake.discard(row.workspaceId, fileId)
      throw error
    }
  }

  /** Changes the state of an open upload. @returns undefined if it is no longer open */
  async #move(row: UploadRow, state: UploadState, error: string | null, file: ReceivedFile | null) {
    const updatedAt = new Date(this.#dependencies.clock.now())
    const [moved] = await uploads.updateReturning(
      this.#dependencies.database,
      { id: row.id, state: 'open' },
      { state, error, file, updatedAt },
    )
    return moved
  }
}

/** @throws AppError upload_mismatch */
function requireMatch(row: UploadRow, file: ReceivedFile): void {
  if (file.size !== row.size) throw UploadMismatch({ message: `${file.size} of ${row.size} bytes were received.` })
  if (row.sha256 !== null && file.sha256 !== row.sha256) {
    throw UploadMismatch({ message: 'The checksum differs from the one given when the upload was created.' })
  }
  if (file.type !== row.type) {
    throw UploadMismatch({
      message: `The type of the file is ${file.type}, but the upload was created for ${row.type}.`,
    })
  }
}
