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
import { requireUpload, whyNot, type UploadRow } from './store.ts'

interface FinishingNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly storage: Storage
  readonly quota: Quota
  readonly intake: Intake
}

/** Makes one file of what an upload brought, and judges it. */
export class UploadFinishing {
  readonly #needs: FinishingNeeds
  readonly #running = new Map<string, Promise<UploadRow>>()

  constructor(needs: FinishingNeeds) {
    this.#needs = needs
  }

  /**
   * Makes a file of an upload whose bytes are all there. Of all who find that at the same time, one makes it, and all get
   * what comes of it.
   * @throws AppError of the inspection, upload_mismatch, conflict when the bytes are not there or the upload was dropped
   */
  finish(row: UploadRow): Promise<UploadRow> {
    const known = this.#running.get(row.id)
    if (known !== undefined) return known
    const finishing = this.#settle(row).finally(() => this.#running.delete(row.id))
    this.#running.set(row.id, finishing)
    return finishing
  }

  /**
   * Makes a file of what came, under a key that no request and no signed URL can write to, so that what is judged is what
   * is kept; then what came can go. A failure of the storage leaves everything as it was.
   */
  async #settle(known: UploadRow): Promise<UploadRow> {
    const { clock, intake, sql, storage } = this.#needs
    // Somebody may have finished it since it was looked at.
    const row = await requireUpload(sql, known.id)
    if (row.state === 'failed') throw Conflict({ message: whyNot(row, clock.now()) })
    if (row.state !== 'open') return row
    const [sent, fileId] = [fileKey(row.workspace_id, row.id), uuidv7(clock.now())]
    const key = fileKey(row.workspace_id, fileId)
    if (row.target === 'api') await storage.pieces.finish(row.id, key)
    else if ((await storage.stat(sent)) === undefined) throw Conflict({ message: whyNot(row, clock.now()) })
    else await storage.copy(sent, key)
    const judged = await this.#judge(row, fileId)
    if (row.target === 'api') await storage.pieces.discard(row.id)
    else await storage.delete(sent)
    if (judged instanceof AppError) throw judged
    if (judged) return judged
    // Dropped meanwhile, or another node was first.
    await intake.discard(row.workspace_id, fileId)
    return requireUpload(sql, row.id)
  }

  /** @returns the upload, moved on; undefined when it had moved on already; why the file is no good, which ends it */
  async #judge(row: UploadRow, fileId: string): Promise<UploadRow | AppError | undefined> {
    try {
      return await this.#move(row, 'received', null, await this.#examined(row, fileId))
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      if (await this.#move(row, 'failed', error.message, null)) await this.#needs.quota.release(row.id)
      return error
    }
  }

  /** A file that is no good, or cannot be looked at, does not stay. */
  async #examined(row: UploadRow, fileId: string): Promise<Received> {
    const { intake } = this.#needs
    try {
      const file = await intake.examine(row.workspace_id, fileId, row.name)
      requireMatch(row, file)
      return file
    } catch (error) {
      await intake.discard(row.workspace_id, fileId)
      throw error
    }
  }

  /** @returns undefined when it is not open any more */
  #move(row: UploadRow, state: UploadState, error: string | null, file: Received | null) {
    return this.#needs.sql.row<UploadRow>(
      `update uploads set state = $2, error = $3, file = $4, updated_at = $5 where id = $1 and state = 'open'
       returning *`,
      [row.id, state, error, file === null ? null : JSON.stringify(file), new Date(this.#needs.clock.now())],
    )
  }
}

/** @throws AppError upload_mismatch */
function requireMatch(row: UploadRow, file: Received): void {
  if (file.size !== row.size) throw UploadMismatch({ message: `${file.size} of ${row.size} bytes came.` })
  if (row.sha256 !== null && file.sha256 !== row.sha256) {
    throw UploadMismatch({ message: 'The checksum is not the one that the upload was opened with.' })
  }
  if (file.type !== row.type) {
    throw UploadMismatch({ message: `The file is ${file.type}, and the upload was opened for ${row.type}.` })
  }
}
