import { UploadMismatch } from '../errors.ts'
import { fileKey, type Intake, type Received } from '../intake.ts'
import type { Quota } from '../quota.ts'
import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import { Conflict } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../core/id.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Storage } from '../../../../storage/storage.ts'
import type { UploadState } from './schemas.ts'
import { uploads, type UploadRow } from '../tables.ts'
import { requireUpload, whyNot } from './store.ts'

interface FinishingNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly storage: Storage
  readonly quota: Quota
  readonly intake: Intake
}

/** Turns the received bytes of an upload into a stored file and inspects it. */
export class UploadFinishing {
  readonly #needs: FinishingNeeds
  readonly #running = new Map<string, Promise<UploadRow>>()

  constructor(needs: FinishingNeeds) {
    this.#needs = needs
  }

  /**
   * Finishes an upload whose bytes have all been received. Calls at the same time share one run and its result.
   * @throws AppError of the inspection, upload_mismatch, conflict if bytes are missing or the upload was cancelled
   */
  finish(row: UploadRow): Promise<UploadRow> {
    const known = this.#running.get(row.id)
    if (known !== undefined) return known
    const finishing = this.#settle(row).finally(() => this.#running.delete(row.id))
    this.#running.set(row.id, finishing)
    return finishing
  }

  /**
   * Copies the received bytes to a key that no request and no signed URL can write to, so that what is inspected is what
   * is kept. The received bytes are deleted after that. A failure of the storage changes nothing.
   */
  async #settle(known: UploadRow): Promise<UploadRow> {
    const { clock, intake, sql, storage } = this.#needs
    // Another node may have finished it since the row was read.
    const row = await requireUpload(sql, known.id)
    if (row.state === 'failed') throw Conflict({ message: whyNot(row, clock.now()) })
    if (row.state !== 'open') return row
    const [sent, fileId] = [fileKey(row.workspaceId, row.id), uuidv7(clock.now())]
    const key = fileKey(row.workspaceId, fileId)
    if (row.target === 'api') await storage.pieces.finish(row.id, key)
    else if ((await storage.stat(sent)) === undefined) throw Conflict({ message: whyNot(row, clock.now()) })
    else await storage.copy(sent, key)
    const inspected = await this.#inspect(row, fileId)
    if (row.target === 'api') await storage.pieces.discard(row.id)
    else await storage.delete(sent)
    if (inspected instanceof AppError) throw inspected
    if (inspected) return inspected
    // It was cancelled meanwhile, or another node was first.
    await intake.discard(row.workspaceId, fileId)
    return requireUpload(sql, row.id)
  }

  /** @returns the upload in its new state, undefined if it was not open any more, or the error that ends the upload */
  async #inspect(row: UploadRow, fileId: string): Promise<UploadRow | AppError | undefined> {
    try {
      return await this.#move(row, 'received', null, await this.#examined(row, fileId))
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      if (await this.#move(row, 'failed', error.message, null)) await this.#needs.quota.release(row.id)
      return error
    }
  }

  /** Deletes the file if it is refused or cannot be inspected. */
  async #examined(row: UploadRow, fileId: string): Promise<Received> {
    const { intake } = this.#needs
    try {
      const file = await intake.examine(row.workspaceId, fileId, row.name)
      requireMatch(row, file)
      return file
    } catch (error) {
      await intake.discard(row.workspaceId, fileId)
      throw error
    }
  }

  /** @returns undefined if it is not open any more */
  async #move(row: UploadRow, state: UploadState, error: string | null, file: Received | null) {
    const updatedAt = new Date(this.#needs.clock.now())
    const [moved] = await uploads.updateReturning(
      this.#needs.sql,
      { id: row.id, state: 'open' },
      { state, error, file, updatedAt },
    )
    return moved
  }
}

/** @throws AppError upload_mismatch */
function requireMatch(row: UploadRow, file: Received): void {
  if (file.size !== row.size) throw UploadMismatch({ message: `${file.size} of ${row.size} bytes were received.` })
  if (row.sha256 !== null && file.sha256 !== row.sha256) {
    throw UploadMismatch({ message: 'The checksum differs from the one that the upload was opened with.' })
  }
  if (file.type !== row.type) {
    throw UploadMismatch({ message: `The file is ${file.type}, but the upload was opened for ${row.type}.` })
  }
}
