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
import type { Database } from '../../../../db/database.ts'
import type { PlanService } from '../../../money/plans/service.ts'
import { ACCEPTED, canonicalType, contradicts } from '../../../../content/types.ts'
import { UnsupportedFile } from '../../../../content/errors.ts'
import { BadSignature, UploadMismatch } from '../errors.ts'
import type { AssetFolders } from '../folders.ts'
import type { AssetTags } from '../tags.ts'
import { fileKey, type Intake } from '../intake.ts'
import { fileName } from '../library.ts'
import type { Quota } from '../quota.ts'
import { findAsset } from '../store.ts'
import { confirmUpload } from '../turns.ts'
import type { Storage } from '../../../../storage/storage.ts'
import { readContentRange } from './content-range.ts'
import type { UploadFinishing } from './finishing.ts'
import type { UploadProgress } from './progress.ts'
import { PIECE_BYTES, type NewUploadData, type UploadData } from './schemas.ts'
import type { UploadSignatures } from './signature.ts'
import { findUpload, isLate, requireUpload, SELECT_UPLOAD, whyNot, type UploadRow } from './store.ts'

declare module '../../../../core/services.ts' {
  interface Services {
    readonly uploads: Uploads
  }
}

/** How long the bytes of an upload may take to come. */
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

/** Uploads in steps: opened with what is to come, sent to a signed URL at once or in pieces, and completed. */
export class Uploads {
  readonly #needs: UploadsNeeds

  constructor(needs: UploadsNeeds) {
    this.#needs = needs
  }

  /**
   * Opens an upload and holds room for it.
   * @param direct whether the bytes may go straight to another storage
   * @throws AppError not_found (the folder), storage_limit_reached, plan_limit_reached (open uploads, tags), unsupported_file (what would be refused at its end)
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
        await tx.run(
          `insert into uploads (id, workspace_id, user_id, target, name, type, size, sha256, folder_id, tags, state, expires_at, created_at, updated_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', $11, $12, $12)`,
          [
            id,
            input.workspaceId,
            userId,
            signed ? 'storage' : 'api',
            fileName(input.name),
            type,
            input.size,
            sha256,
            input.folderId ?? null,
            input.tags ?? [],
            expiresAt,
            new Date(now),
          ],
        )
      })
    } catch (error) {
      await quota.release(id)
      throw error
    }
    return {
      uploadId: id,
      url: signed?.url ?? this.#url({ uploadId: id, size: input.size, type, sha256, expires: seconds(expiresAt) }),
      method: 'PUT' as const,
      headers: signed?.headers ?? { 'Content-Type': type },
      pieceSize: PIECE_BYTES,
      resumable: signed === undefined,
      expiresAt: expiresAt.toISOString(),
    }
  }

  /**
   * Takes the file, or a piece of it, that comes to a signed URL. With the last byte the file is looked at. Once the file
   * is there, the same bytes may be sent again, and others are refused.
   * @throws AppError bad_signature, upload_mismatch, conflict (another place to go on), those of the inspection
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
      throw UnsupportedMediaType({ message: `This upload takes ${row.type} and nothing else.` })
    }
    const range = readContentRange(upload.contentRange, row.size)
    if (range === 'asked') {
      // All bytes came, and then the storage failed or the connection broke: asking how far it is goes on.
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
    // Without a range the file begins anew.
    const append = () => pieces.append(row.id, range?.start, atMost(upload.blocks, most))
    const length = await progress.during(row, () => pieces.length(row.id), append)
    await this.#requireUploader(row)
    if (length >= row.size) return this.#view(await finishing.finish(row))
    if (!range) throw BadRequest({ message: `${length} of ${row.size} bytes came: go on with Content-Range.` })
    return this.#view(row)
  }

  /**
   * Makes an asset of an upload whose bytes are there. Doing it twice gives the same asset.
   * @param userId who asks for it
   * @returns the id of the asset
   * @throws AppError conflict when the bytes are not there yet; those of the inspection
   */
  async complete(uploadId: string, userId: string): Promise<string> {
    const row = await this.#row(uploadId)
    if (row.state === 'open' && row.target === 'storage' && !isLate(row, this.#needs.clock.now()))
      await this.#needs.finishing.finish(row)
    const { _id: assetId } = await this.#needs.turns.system(row.workspace_id, confirmUpload, { uploadId, userId })
    return assetId
  }

  /** What a turn makes an asset of. @throws AppError conflict when the bytes are not there */
  toAdd(row: UploadRow) {
    if (row.state !== 'received' || row.file === null || isLate(row, this.#needs.clock.now())) {
      throw Conflict({ message: whyNot(row, this.#needs.clock.now()) })
    }
    return {
      file: row.file,
      userId: row.user_id,
      name: row.name,
      tags: row.tags,
      folderId: row.folder_id,
      heldAs: row.id,
    }
  }

  /** @throws AppError not_found */
  async find(sql: Sql, uploadId: string): Promise<UploadRow> {
    const row = await sql.row<UploadRow>(`${SELECT_UPLOAD} where id = $1 for update`, [uploadId])
    if (row === undefined) throw NotFound()
    return row
  }

  async finish(sql: Sql, uploadId: string, assetId: string): Promise<void> {
    await sql.run(`update uploads set state = 'complete', asset_id = $2, updated_at = $3 where id = $1`, [
      uploadId,
      assetId,
      new Date(this.#needs.clock.now()),
    ])
  }

  async get(uploadId: string): Promise<UploadData> {
    return this.#view(await this.#row(uploadId))
  }

  async list(query: { workspaceId: string; limit?: number; cursor?: string }): Promise<PageResult<UploadData>> {
    const { after, limit } = pageRequest(query)
    const rows = await this.#needs.sql.rows<UploadRow>(
      `${SELECT_UPLOAD} where workspace_id = $1 and ($2::timestamptz is null or (created_at, id) < ($2::timestamptz, $3::uuid))
       order by created_at desc, id desc limit $4`,
      [query.workspaceId, after?.createdAt ?? null, after?.id ?? null, limit + 1],
    )
    const page = pageOf(
      rows,
      limit,
      (row) => ({ createdAt: row.created_at, id: row.id }),
      (row) => row,
    )
    return { ...page, items: await Promise.all(page.items.map((row) => this.#view(row))) }
  }

  /** Forgets an upload and what came of it; an asset that was made of it stays. */
  async remove(uploadId: string): Promise<void> {
    const { intake, quota, sql, storage } = this.#needs
    // What it says of an asset as it goes: one may be made of it right now.
    const gone = await sql.row<Pick<UploadRow, 'workspace_id' | 'asset_id' | 'target' | 'file'>>(
      'delete from uploads where id = $1 returning workspace_id, asset_id, target, file',
      [uploadId],
    )
    if (gone === undefined) throw NotFound()
    const { asset_id: assetId, file, target, workspace_id: workspaceId } = gone
    await quota.release(uploadId)
    await storage.pieces.discard(uploadId)
    if (target === 'storage') await intake.discard(workspaceId, uploadId)
    if (assetId === null && file !== null) await intake.discard(workspaceId, file.fileId)
  }

  /** Uploads that are open, or whose asset is not made yet, are bounded. @throws AppError plan_limit_reached */
  async #requireRoom(tx: Sql, workspaceId: string, now: number): Promise<void> {
    const { plans } = this.#needs
    // The lock keeps others of the same workspace from adding one meanwhile.
    await tx.row('select 1 from workspaces where id = $1 for no key update', [workspaceId])
    const row = await tx.row<{ count: number }>(
      `select count(*) as count from uploads
       where workspace_id = $1 and state in ('open', 'received') and expires_at > $2`,
      [workspaceId, new Date(now)],
    )
    await plans.requireRoom(workspaceId, 'openUploads', row?.count ?? 0)
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
    // The same for an upload that does not exist: who has no URL learns nothing.
    if (!right) throw BadSignature()
    await this.#requireUploader(row)
    return row
  }

  /** A signed URL is good for as long as the member who opened the upload may add media. @throws AppError bad_signature */
  async #requireUploader(row: UploadRow): Promise<void> {
    const member = await this.#needs.memberships.find(row.workspace_id, row.user_id)
    if (!member?.scopes.has('media:write')) throw BadSignature()
  }

  /**
   * What comes after the end must be what came before: a client whose connection broke before the answer repeats its
   * request, but the bytes of another file would be lost without a word.
   * @throws AppError upload_mismatch
   */
  async #requireRepeated(row: UploadRow, range: ByteRange | undefined, upload: Upload): Promise<void> {
    const { start, end } = range ?? { start: 0, end: row.size - 1 }
    const sent = await sha256Of(atMost(upload.blocks, end - start + 1))
    const isWhole = start === 0 && end === row.size - 1
    if (sent === (isWhole ? row.file?.sha256 : await this.#sha256Of(row, { start, end }))) return
    throw UploadMismatch({ message: 'This upload has received other bytes already: open a new one for another file.' })
  }

  /** Of a part of the file that came; undefined when it is not kept any more. */
  async #sha256Of(row: UploadRow, range: ByteRange): Promise<string | undefined> {
    const { sql, storage } = this.#needs
    // An asset may show an older file with the same content.
    const asset = row.asset_id === null ? undefined : await findAsset(sql, row.asset_id)
    const fileId = asset?.file_id ?? row.file?.fileId
    const blocks = fileId && (await storage.blocks(fileKey(row.workspace_id, fileId), range))
    return blocks ? sha256Of(blocks) : undefined
  }

  #row(uploadId: string): Promise<UploadRow> {
    return requireUpload(this.#needs.sql, uploadId)
  }

  async #view(row: UploadRow): Promise<UploadData> {
    const open = row.state === 'open'
    return {
      _id: row.id,
      workspaceId: row.workspace_id,
      name: row.name,
      type: row.type,
      size: row.size,
      received: open ? await this.#needs.storage.pieces.length(row.id) : (row.file?.size ?? 0),
      state: isLate(row, this.#needs.clock.now()) ? 'expired' : row.state,
      error: row.error,
      assetId: row.asset_id,
      expiresAt: row.expires_at,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }
  }

  #url(signed: Parameters<UploadSignatures['sign']>[0]): string {
    const signature = this.#needs.signatures.sign(signed)
    return `${this.#needs.publicUrl}/api/uploads/${signed.uploadId}/content?expires=${signed.expires}&signature=${signature}`
  }
}

/** A body as far as it may go. @throws AppError upload_mismatch when it goes on */
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
  return UploadMismatch({ message: `${most} bytes were announced, and more were sent.` })
}

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000)
}

/** The type that is announced. @throws AppError unsupported_file for one that is never taken, or that the name denies */
function takenType({ name, type: given }: NewUploadData): string {
  const type = canonicalType(given)
  if (!(type in ACCEPTED)) {
    throw UnsupportedFile({
      message: `The media library takes no ${type}. It takes ${Object.keys(ACCEPTED).join(', ')}.`,
    })
  }
  if (contradicts(name, type)) throw UnsupportedFile({ message: `The name does not end as one of ${type}: rename it.` })
  return type
}
