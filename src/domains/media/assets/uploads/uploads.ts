import { createHash } from 'node:crypto'
import { HOUR, type Clock } from '../../../../core/clock.ts'
import { BadRequest, Conflict, NotFound, UnsupportedMediaType } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../core/id.ts'
import type { Memberships } from '../../../../core/ports.ts'
import { pageOf, pageRequest } from '../../../../core/page.ts'
import type { ByteRange, PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import type { Upload } from '../../../../core/upload.ts'
import { anyOf, greaterThan } from '../../../../db/condition.ts'
import type { Database } from '../../../../db/database.ts'
import type { PlanService } from '../../../money/plans/index.ts'
import { lockWorkspace } from '../../../workspace/workspaces/index.ts'
import { ACCEPTED, canonicalType, contradicts } from '../../../../content/types.ts'
import { UnsupportedFile } from '../../../../content/errors.ts'
import { BadSignature, UploadMismatch } from '../errors.ts'
import type { AssetFolders } from '../folders.ts'
import type { AssetTags } from '../tags.ts'
import { fileKey, type Intake } from '../intake.ts'
import { fileName } from '../library.ts'
import type { Quota } from '../quota.ts'
import { findAsset } from '../store.ts'
import { uploads, type UploadRow } from '../tables.ts'
import { confirmUpload } from '../turns.ts'
import type { Storage } from '../../../../storage/storage.ts'
import { readContentRange } from './content-range.ts'
import type { UploadFinishing } from './finishing.ts'
import type { UploadProgress } from './progress.ts'
import { PIECE_BYTES, type NewUploadData, type UploadData } from './schemas.ts'
import type { UploadSignatures } from './signature.ts'
import { findUpload, isLate, requireUpload, whyNot } from './store.ts'

/** How long a client has to send the bytes of an upload. */
const OPEN_MS = 24 * HOUR

interface UploadsNeeds {
  readonly sql: Database
  readonly plans: PlanService
  readonly clock: Clock
  readonly storage: Storage
  readonly quota: Quota
  readonly intake: Intake
  readonly folders: AssetFolders
  readonly tags: AssetTags
  readonly turns: TurnRunner
  readonly memberships: Memberships
  readonly signatures: UploadSignatures
  readonly publicUrl: string
  readonly progress: UploadProgress
  readonly finishing: UploadFinishing
}

/** Uploads in three steps: announced, sent to a signed URL (whole or in pieces), and completed. */
export class Uploads {
  readonly #needs: UploadsNeeds

  constructor(needs: UploadsNeeds) {
    this.#needs = needs
  }

  /**
   * Opens an upload and reserves room for it.
   * @param direct whether the client may send the bytes to the bucket itself
   * @throws AppError not_found (the folder), storage_limit_reached, plan_limit_reached (open uploads, tags), unsupported_file
   */
  async open(input: NewUploadData, userId: string, direct: boolean) {
    const { clock, folders, quota, sql, storage, tags } = this.#needs
    const type = takenType(input)
    await folders.require(sql, input.workspaceId, input.folderId)
    const now = clock.now()
    const id = uuidv7(now)
    const bound = { size: input.size, type, expiresInSeconds: OPEN_MS / 1000 }
    const sha256 = input.checksum ?? null
    const signed = direct
      ? await storage.signedPut(fileKey(input.workspaceId, id), { ...bound, ...(sha256 && { sha256 }) })
      : undefined
    const expiresAt = new Date(now + OPEN_MS)
    await quota.hold(input.workspaceId, id, input.size, OPEN_MS)
    try {
      await sql.transaction(async (tx) => {
        await this.#requireRoom(tx, input.workspaceId, now)
        await tags.requireRoom(tx, input.workspaceId, input.tags)
        await uploads.insert(tx, {
          id,
          workspaceId: input.workspaceId,
          userId,
          target: signed ? 'storage' : 'api',
          name: fileName(input.name),
          type,
          size: input.size,
          sha256,
          folderId: input.folderId ?? null,
          tags: input.tags ?? [],
          state: 'open',
          expiresAt,
          createdAt: new Date(now),
          updatedAt: new Date(now),
        })
      })
    } catch (error) {
      await quota.release(id)
      throw error
    }
    return {
      uploadId: id,
      url: signed?.url ?? this.#url({ uploadId: id, size: input.size, type, sha256, expires: secondsOf(expiresAt) }),
      method: 'PUT' as const,
      headers: signed?.headers ?? { 'Content-Type': type },
      pieceSize: PIECE_BYTES,
      resumable: signed === undefined,
      expiresAt: expiresAt.toISOString(),
    }
  }

  /**
   * Takes the file, or a piece of it, at a signed URL. After the last byte the file is inspected. From then on the same
   * bytes may be sent again, and others are refused.
   * @throws AppError bad_signature, upload_mismatch, conflict (the wrong offset), errors of the inspection
   */
  async take(
    uploadId: string,
    query: { readonly expires: number; readonly signature: string },
    upload: Upload,
  ): Promise<UploadData> {
    const row = await this.#signed(uploadId, query)
    const { finishing, progress, storage } = this.#needs
    const { pieces } = storage
    if (upload.type !== '' && canonicalType(upload.type) !== row.type) {
      throw UnsupportedMediaType({ message: `This upload takes only ${row.type}.` })
    }
    const range = readContentRange(upload.contentRange, row.size)
    if (range === 'asked') {
      // All bytes are here, but the storage or the connection failed before the inspection: continue with it.
      if (row.state === 'open' && (await pieces.length(row.id)) === row.size)
        return this.#view(await finishing.finish(row))
      return this.#view(row)
    }
    if (row.state === 'received' || row.state === 'complete') {
      await this.#requireRepeated(row, range, upload)
      return this.#view(row)
    }
    if (row.state !== 'open') throw Conflict({ message: whyNot(row, this.#needs.clock.now()) })
    const most = range ? range.end - range.start + 1 : row.size
    if ((upload.announced ?? 0) > most) throw tooMany(most)
    // Without a range the upload starts over.
    const append = () => pieces.append(row.id, range?.start, atMost(upload.blocks, most))
    const length = await progress.during(row, () => pieces.length(row.id), append)
    await this.#requireUploader(row)
    if (length >= row.size) return this.#view(await finishing.finish(row))
    if (!range)
      throw BadRequest({ message: `${length} of ${row.size} bytes were received: continue with Content-Range.` })
    return this.#view(row)
  }

  /**
   * Adds the asset of an upload whose bytes have been received. Repeating it gives the same asset.
   * @param userId the caller
   * @returns the id of the asset
   * @throws AppError conflict if bytes are missing, errors of the inspection
   */
  async complete(uploadId: string, userId: string): Promise<string> {
    const row = await this.#row(uploadId)
    if (row.state === 'open' && row.target === 'storage' && !isLate(row, this.#needs.clock.now()))
      await this.#needs.finishing.finish(row)
    const { _id: assetId } = await this.#needs.turns.system(row.workspaceId, confirmUpload, { uploadId, userId })
    return assetId
  }

  /** The asset to add for an upload. @throws AppError conflict if the upload is not in state `received` */
  toAdd(row: UploadRow) {
    if (row.state !== 'received' || row.file === null || isLate(row, this.#needs.clock.now())) {
      throw Conflict({ message: whyNot(row, this.#needs.clock.now()) })
    }
    return {
      file: row.file,
      userId: row.userId,
      name: row.name,
      tags: row.tags,
      folderId: row.folderId,
      heldAs: row.id,
    }
  }

  /** Reads an upload and locks it until the transaction ends. @throws AppError not_found */
  async find(sql: Sql, uploadId: string): Promise<UploadRow> {
    const row = await uploads.first(sql, { id: uploadId }, { lock: 'for update' })
    if (row === undefined) throw NotFound()
    return row
  }

  async finish(sql: Sql, uploadId: string, assetId: string): Promise<void> {
    const updatedAt = new Date(this.#needs.clock.now())
    await uploads.update(sql, { id: uploadId }, { state: 'complete', assetId, updatedAt })
  }

  async get(uploadId: string): Promise<UploadData> {
    return this.#view(await this.#row(uploadId))
  }

  async list(query: { workspaceId: string; limit?: number; cursor?: string }): Promise<PageResult<UploadData>> {
    const request = pageRequest(query)
    const rows = await uploads.page(this.#needs.sql, { workspaceId: query.workspaceId }, request)
    const page = pageOf(
      rows,
      request.limit,
      (row) => row,
      (row) => row,
    )
    return { ...page, items: await Promise.all(page.items.map((row) => this.#view(row))) }
  }

  /** Deletes an upload and what was received. An asset that was made of it stays. */
  async remove(uploadId: string): Promise<void> {
    const { intake, quota, sql, storage } = this.#needs
    // The row as it is when it is deleted: an asset may be made of the upload at the same time.
    const [gone] = await uploads.deleteReturning(sql, { id: uploadId })
    if (gone === undefined) throw NotFound()
    const { assetId, file, target, workspaceId } = gone
    await quota.release(uploadId)
    await storage.pieces.discard(uploadId)
    if (target === 'storage') await intake.discard(workspaceId, uploadId)
    if (assetId === null && file !== null) await intake.discard(workspaceId, file.fileId)
  }

  /** Limits the uploads that are open or have no asset yet. @throws AppError plan_limit_reached */
  async #requireRoom(tx: Sql, workspaceId: string, now: number): Promise<void> {
    const { plans } = this.#needs
    // Other requests of the workspace wait here until this transaction ends.
    await lockWorkspace(tx, workspaceId)
    const open = await uploads.count(tx, {
      workspaceId,
      state: anyOf(['open', 'received'] as const),
      expiresAt: greaterThan(new Date(now)),
    })
    await plans.requireRoom(workspaceId, 'openUploads', open)
  }

  async #signed(uploadId: string, query: { expires: number; signature: string }): Promise<UploadRow> {
    const { clock, signatures, sql } = this.#needs
    const row = await findUpload(sql, uploadId)
    const { expires, signature } = query
    const right =
      row !== undefined &&
      row.target === 'api' &&
      expires * 1000 > clock.now() &&
      signatures.holds({ uploadId, size: row.size, type: row.type, sha256: row.sha256, expires }, signature)
    // The same error for an upload that does not exist, so that guessing ids reveals nothing.
    if (!right) throw BadSignature()
    await this.#requireUploader(row)
    return row
  }

  /** A signed URL is valid only while the member who opened the upload may add media. @throws AppError bad_signature */
  async #requireUploader(row: UploadRow): Promise<void> {
    const member = await this.#needs.memberships.find(row.workspaceId, row.userId)
    if (!member?.scopes.has('media:write')) throw BadSignature()
  }

  /**
   * A client that lost the response may repeat its request with the same bytes. Other bytes are refused, because they
   * would be lost silently.
   * @throws AppError upload_mismatch
   */
  async #requireRepeated(row: UploadRow, range: ByteRange | undefined, upload: Upload): Promise<void> {
    const { start, end } = range ?? { start: 0, end: row.size - 1 }
    const sent = await sha256Of(atMost(upload.blocks, end - start + 1))
    const isWhole = start === 0 && end === row.size - 1
    if (sent === (isWhole ? row.file?.sha256 : await this.#sha256Of(row, { start, end }))) return
    throw UploadMismatch({ message: 'This upload has already received other bytes: open a new one for another file.' })
  }

  /** Hash of a range of the received file; undefined if the file is not stored any more. */
  async #sha256Of(row: UploadRow, range: ByteRange): Promise<string | undefined> {
    const { sql, storage } = this.#needs
    // An asset may show an older file with the same content.
    const asset = row.assetId === null ? undefined : await findAsset(sql, row.assetId)
    const fileId = asset?.fileId ?? row.file?.fileId
    const blocks = fileId && (await storage.blocks(fileKey(row.workspaceId, fileId), range))
    return blocks ? sha256Of(blocks) : undefined
  }

  #row(uploadId: string): Promise<UploadRow> {
    return requireUpload(this.#needs.sql, uploadId)
  }

  async #view(row: UploadRow): Promise<UploadData> {
    const open = row.state === 'open'
    return {
      _id: row.id,
      workspaceId: row.workspaceId,
      name: row.name,
      type: row.type,
      size: row.size,
      received: open ? await this.#needs.storage.pieces.length(row.id) : (row.file?.size ?? 0),
      state: isLate(row, this.#needs.clock.now()) ? 'expired' : row.state,
      error: row.error,
      assetId: row.assetId,
      expiresAt: row.expiresAt,
      createdAt: row.createdAt,
      updatedAt: row.updatedAt,
    }
  }

  #url(signed: Parameters<UploadSignatures['sign']>[0]): string {
    const signature = this.#needs.signatures.sign(signed)
    return `${this.#needs.publicUrl}/api/uploads/${signed.uploadId}/content?expires=${signed.expires}&signature=${signature}`
  }
}

/** The blocks of a body. @throws AppError upload_mismatch if it has more than `most` bytes */
async function* atMost(body: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let left = most
  for await (const chunk of body) {
    if (left > 0) yield chunk.subarray(0, left)
    left -= chunk.length
    if (left < 0) throw tooMany(most)
  }
}

async function sha256Of(blocks: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const block of blocks) hash.update(block)
  return hash.digest('hex')
}

function tooMany(most: number) {
  return UploadMismatch({ message: `${most} bytes were announced, but more were sent.` })
}

function secondsOf(at: Date): number {
  return Math.floor(at.getTime() / 1000)
}

/** The announced type. @throws AppError unsupported_file for a type that is not accepted, or that the name contradicts */
function takenType({ name, type: given }: NewUploadData): string {
  const type = canonicalType(given)
  if (!(type in ACCEPTED)) {
    throw UnsupportedFile({
      message: `The media library does not accept ${type}. It accepts ${Object.keys(ACCEPTED).join(', ')}.`,
    })
  }
  if (contradicts(name, type))
    throw UnsupportedFile({ message: `The extension of the name does not fit ${type}: rename the file.` })
  return type
}
