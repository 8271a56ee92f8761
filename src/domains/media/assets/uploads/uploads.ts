import { createHash } from 'node:crypto'
import { HOUR } from '../../../../core/clock.ts'
import { BadRequest, Conflict, NotFound, UnsupportedMediaType } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Memberships } from '../../../../core/ports.ts'
import { pageOf, pageRequest } from '../../../../core/page.ts'
import type { ByteRange, PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Upload } from '../../../../core/upload.ts'
import { anyOf, greaterThan } from '../../../../db/condition.ts'
import type { PlanService } from '../../../money/plans/index.ts'
import { lockWorkspace } from '../../../workspace/workspaces/index.ts'
import { ACCEPTED, canonicalType, extensionContradicts, needsFfmpeg } from '../../../../content/types.ts'
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
import type { Foundation } from '../../../../foundation.ts'
import { readContentRange } from './content-range.ts'
import type { UploadFinishing } from './finishing.ts'
import type { UploadProgress } from './progress.ts'
import { PIECE_BYTES, type NewUploadData, type UploadData } from './schemas.ts'
import type { UploadSignatures } from './signature.ts'
import { findUpload, isExpired, requireUpload, rejectionReason } from './store.ts'

/** How long a client has to send the bytes of an upload. */
const OPEN_MS = 24 * HOUR

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'requireFfmpeg' | 'storage' | 'turns'> & {
  readonly plans: PlanService
  readonly quota: Quota
  readonly intake: Intake
  readonly folders: AssetFolders
  readonly tags: AssetTags
  readonly memberships: Memberships
  readonly signatures: UploadSignatures
  readonly publicUrl: string
  readonly progress: UploadProgress
  readonly finishing: UploadFinishing
}

/** Signed uploads. They have three steps: create the upload, send the bytes to a signed URL (whole or in pieces), complete it. */
export class Uploads {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Creates an upload and reserves storage for it.
   * @param direct whether the client may send the bytes directly to the bucket
   * @throws AppError not_found (the folder), storage_limit_reached, plan_limit_reached (open uploads, tags), unsupported_file
   */
  async open(input: NewUploadData, userId: string, direct: boolean) {
    const { clock, folders, quota, database: sql, storage, tags } = this.#dependencies
    const type = requireAcceptedType(input)
    if (needsFfmpeg(type)) this.#dependencies.requireFfmpeg()
    await folders.require(sql, input.workspaceId, input.folderId)
    const now = clock.now()
    const id = uuidv7(now)
    const terms = { size: input.size, type, expiresInSeconds: OPEN_MS / 1000 }
    const sha256 = input.checksum ?? null
    const signed = direct
      ? await storage.signedPut(fileKey(input.workspaceId, id), { ...terms, ...(sha256 && { sha256 }) })
      : undefined
    const expiresAt = new Date(now + OPEN_MS)
    await quota.reserve(input.workspaceId, id, input.size, OPEN_MS)
    try {
      await sql.transaction(async (tx) => {
        await this.#requireUploadLimit(tx, input.workspaceId, now)
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
   * Receives the file, or a piece of it, at a signed URL. After the last byte, the file is inspected. From then on, the
   * same bytes may be sent again, and others are refused.
   * @throws AppError bad_signature, upload_mismatch, conflict (the wrong offset), errors of the inspection
   */
  async receive(
    uploadId: string,
    query: { readonly expires: number; readonly signature: string },
    upload: Upload,
  ): Promise<UploadData> {
    const row = await this.#verified(uploadId, query)
    const { finishing, progress, storage } = this.#dependencies
    const { pieces } = storage
    if (upload.type !== '' && canonicalType(upload.type) !== row.type) {
      throw UnsupportedMediaType({ message: `This upload accepts only ${row.type}.` })
    }
    const range = readContentRange(upload.contentRange, row.size)
    if (range === 'query') {
      // All bytes were received, but the storage or the connection failed before the inspection. Run it now.
      if (row.state === 'open' && (await pieces.length(row.id)) === row.size)
        return this.#view(await finishing.finish(row))
      return this.#view(row)
    }
    if (row.state === 'received' || row.state === 'complete') {
      await this.#requireSameBytes(row, range, upload)
      return this.#view(row)
    }
    if (row.state !== 'open') throw Conflict({ message: rejectionReason(row, this.#dependencies.clock.now()) })
    const maxBytes = range ? range.end - range.start + 1 : row.size
    if ((upload.announced ?? 0) > maxBytes) throw tooManyBytes(maxBytes)
    // Without a range the upload starts over.
    const append = () => pieces.append(row.id, range?.start, atMost(upload.blocks, maxBytes))
    const length = await progress.during(row, () => pieces.length(row.id), append)
    await this.#requireUploader(row)
    if (length >= row.size) return this.#view(await finishing.finish(row))
    if (!range)
      throw BadRequest({ message: `${length} of ${row.size} bytes were received. Continue with Content-Range.` })
    return this.#view(row)
  }

  /**
   * Adds the asset of an upload whose bytes have been received. A repeated call returns the same asset.
   * @param userId the caller
   * @returns the id of the asset
   * @throws AppError conflict if bytes are missing, errors of the inspection
   */
  async complete(uploadId: string, userId: string): Promise<string> {
    const row = await this.#row(uploadId)
    if (row.state === 'open' && row.target === 'storage' && !isExpired(row, this.#dependencies.clock.now()))
      await this.#dependencies.finishing.finish(row)
    const { _id: assetId } = await this.#dependencies.turns.system(row.workspaceId, confirmUpload, { uploadId, userId })
    return assetId
  }

  /** The asset to add from an upload. @throws AppError conflict if the upload is not in state `received` */
  newAsset(row: UploadRow) {
    if (row.state !== 'received' || row.file === null || isExpired(row, this.#dependencies.clock.now())) {
      throw Conflict({ message: rejectionReason(row, this.#dependencies.clock.now()) })
    }
    return {
      file: row.file,
      userId: row.userId,
      name: row.name,
      tags: row.tags,
      folderId: row.folderId,
      reservationId: row.id,
    }
  }

  /** Reads an upload and locks it until the transaction ends. @throws AppError not_found */
  async lock(sql: Sql, uploadId: string): Promise<UploadRow> {
    const row = await uploads.first(sql, { id: uploadId }, { lock: 'for update' })
    if (row === undefined) throw NotFound()
    return row
  }

  async markComplete(sql: Sql, uploadId: string, assetId: string): Promise<void> {
    const updatedAt = new Date(this.#dependencies.clock.now())
    await uploads.update(sql, { id: uploadId }, { state: 'complete', assetId, updatedAt })
  }

  async get(uploadId: string): Promise<UploadData> {
    return this.#view(await this.#row(uploadId))
  }

  async list(query: { workspaceId: string; limit?: number; cursor?: string }): Promise<PageResult<UploadData>> {
    const request = pageRequest(query)
    const rows = await uploads.page(this.#dependencies.database, { workspaceId: query.workspaceId }, request)
    const page = pageOf(
      rows,
      request.limit,
      (row) => row,
      (row) => row,
    )
    return { ...page, items: await Promise.all(page.items.map((row) => this.#view(row))) }
  }

  /** Deletes an upload and the received bytes. An asset that was added from it is kept. */
  async remove(uploadId: string): Promise<void> {
    const { intake, quota, database: sql, storage } = this.#dependencies
    // Use the row as it was deleted, because an asset may be added from the upload at the same time.
    const [deleted] = await uploads.deleteReturning(sql, { id: uploadId })
    if (deleted === undefined) throw NotFound()
    const { assetId, file, target, workspaceId } = deleted
    await quota.release(uploadId)
    await storage.pieces.discard(uploadId)
    if (target === 'storage') await intake.discard(workspaceId, uploadId)
    if (assetId === null && file !== null) await intake.discard(workspaceId, file.fileId)
  }

  /** Checks the plan's limit on open uploads and those without an asset. @throws AppError plan_limit_reached */
  async #requireUploadLimit(tx: Sql, workspaceId: string, now: number): Promise<void> {
    const { plans } = this.#dependencies
    // Other requests of the workspace wait here until this transaction ends.
    await lockWorkspace(tx, workspaceId)
    const open = await uploads.count(tx, {
      workspaceId,
      state: anyOf(['open', 'received'] as const),
      expiresAt: greaterThan(new Date(now)),
    })
    await plans.requireRoom(workspaceId, 'openUploads', open)
  }

  async #verified(uploadId: string, query: { expires: number; signature: string }): Promise<UploadRow> {
    const { clock, signatures, database: sql } = this.#dependencies
    const row = await findUpload(sql, uploadId)
    const { expires, signature } = query
    const isValid =
      row !== undefined &&
      row.target === 'api' &&
      expires * 1000 > clock.now() &&
      signatures.verify({ uploadId, size: row.size, type: row.type, sha256: row.sha256, expires }, signature)
    // An upload that does not exist gives the same error, so that ids cannot be guessed.
    if (!isValid) throw BadSignature()
    await this.#requireUploader(row)
    return row
  }

  /** A signed URL is valid only while the member who created the upload may add media. @throws AppError bad_signature */
  async #requireUploader(row: UploadRow): Promise<void> {
    const member = await this.#dependencies.memberships.find(row.workspaceId, row.userId)
    if (!member?.scopes.has('media:write')) throw BadSignature()
  }

  /**
   * A client that did not get the reply may repeat its request with the same bytes. Other bytes are refused, because they
   * would be lost silently.
   * @throws AppError upload_mismatch
   */
  async #requireSameBytes(row: UploadRow, range: ByteRange | undefined, upload: Upload): Promise<void> {
    const { start, end } = range ?? { start: 0, end: row.size - 1 }
    const sent = await sha256Of(atMost(upload.blocks, end - start + 1))
    const isWhole = start === 0 && end === row.size - 1
    if (sent === (isWhole ? row.file?.sha256 : await this.#sha256Of(row, { start, end }))) return
    throw UploadMismatch({
      message: 'This upload has already received other bytes. Create a new upload for another file.',
    })
  }

  /** Hash of a range of the received file. Undefined if the file is no longer stored. */
  async #sha256Of(row: UploadRow, range: ByteRange): Promise<string | undefined> {
    const { database: sql, storage } = this.#dependencies
    // The asset may use an older file with the same content.
    const asset = row.assetId === null ? undefined : await findAsset(sql, row.assetId)
    const fileId = asset?.fileId ?? row.file?.fileId
    const blocks = fileId && (await storage.blocks(fileKey(row.workspaceId, fileId), range))
    return blocks ? sha256Of(blocks) : undefined
  }

  #row(uploadId: string): Promise<UploadRow> {
    return requireUpload(this.#dependencies.database, uploadId)
  }

  async #view(row: UploadRow): Promise<UploadData> {
    const isOpen = row.state === 'open'
    return {
      _id: row.id,
      workspaceId: row.workspaceId,
      name: row.name,
      type: row.type,
      size: row.size,
      received: isOpen ? await this.#dependencies.storage.pieces.length(row.id) : (row.file?.size ?? 0),
      state: isExpired(row, this.#dependencies.clock.now()) ? 'expired' : row.state,
      error: row.error,
      assetId: row.assetId,
      expiresAt: row.expiresAt,
      createdAt: row.createdAt,
      updatedAt: row.updatedAt,
    }
  }

  #url(signed: Parameters<UploadSignatures['sign']>[0]): string {
    const signature = this.#dependencies.signatures.sign(signed)
    return `${this.#dependencies.publicUrl}/api/uploads/${signed.uploadId}/content?expires=${signed.expires}&signature=${signature}`
  }
}

/** Passes on the blocks of a body. @throws AppError upload_mismatch if it has more than `maxBytes` */
async function* atMost(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let left = maxBytes
  for await (const chunk of body) {
    if (left > 0) yield chunk.subarray(0, left)
    left -= chunk.length
    if (left < 0) throw tooManyBytes(maxBytes)
  }
}

async function sha256Of(blocks: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const block of blocks) hash.update(block)
  return hash.digest('hex')
}

function tooManyBytes(maxBytes: number) {
  return UploadMismatch({ message: `More than the announced ${maxBytes} bytes were sent.` })
}

function secondsOf(at: Date): number {
  return Math.floor(at.getTime() / 1000)
}

/** The canonical announced type. @throws AppError unsupported_file if it is not accepted or does not fit the name */
function requireAcceptedType({ name, type: given }: NewUploadData): string {
  const type = canonicalType(given)
  if (!(type in ACCEPTED)) {
    throw UnsupportedFile({
      message: `The media library does not accept ${type}. It accepts ${Object.keys(ACCEPTED).join(', ')}.`,
    })
  }
  if (extensionContradicts(name, type))
    throw UnsupportedFile({
      message: `The extension of the file name does not fit ${type}. Rename the file to end in .${ACCEPTED[type]?.extensions[0] ?? ''}.`,
    })
  return type
}
