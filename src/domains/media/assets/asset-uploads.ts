import type { Static } from 'typebox'
import { needsFfmpeg } from '../../../content/types.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Upload } from '../../../core/upload.ts'
import type { Foundation } from '../../../foundation.ts'
import type { Uploads } from './uploads/uploads.ts'
import type { AssetFolders } from './folders.ts'
import type { Intake } from './intake.ts'
import { fileName, type AssetLibrary } from './library.ts'
import type { Quota } from './quota.ts'
import type { AssetData, NewAssetFields } from './schemas.ts'
import { findAsset } from './store.ts'
import { addAsset } from './turns.ts'
import type { AssetViews } from './views.ts'

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'requireFfmpeg' | 'turns'> & {
  readonly quota: Quota
  readonly intake: Intake
  readonly folders: AssetFolders
  readonly library: AssetLibrary
  readonly uploads: Uploads
  readonly views: AssetViews
}

/** Adds uploaded files to the library: reserves space, stores the bytes, and adds the asset in a turn. */
export class AssetUploads {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Adds a file that is uploaded in one request. @throws AppError not_found (the folder), plan_limit_reached, storage_limit_reached, ffmpeg_missing, errors of the inspection */
  async upload(
    fields: Static<typeof NewAssetFields>,
    userId: string,
    upload: Pick<Upload, 'stream' | 'name' | 'announced'>,
  ): Promise<AssetData> {
    const { clock, folders, intake, library, quota, database: sql, turns } = this.#dependencies
    const { altText, folderId, tags, workspaceId } = fields
    await folders.require(sql, workspaceId, folderId)
    await library.requireTags(sql, workspaceId, tags)
    const reservationId = uuidv7(clock.now())
    const maxBytes = await quota.reserve(workspaceId, reservationId, upload.announced)
    try {
      const name = fileName(fields.name ?? upload.name)
      const file = await intake.receive(workspaceId, upload.stream, name, maxBytes, ({ type }) => {
        if (needsFfmpeg(type)) this.#dependencies.requireFfmpeg()
      })
      const newAsset = { file, userId, name, altText, tags, folderId, reservationId }
      const { asset, fileId } = await turns.system(workspaceId, addAsset, newAsset)
      if (fileId !== file.fileId) await intake.discard(workspaceId, file.fileId)
      return asset
    } catch (error) {
      await quota.release(reservationId)
      throw error
    }
  }

  /** Adds the asset of a signed upload. A repeated call returns the same asset. @throws AppError conflict, plan_limit_reached */
  async confirm(turn: Turn, uploadId: string): Promise<AssetData> {
    const { intake, library, uploads, views } = this.#dependencies
    const row = await uploads.lock(turn.sql, uploadId)
    const existing = row.assetId === null ? undefined : await findAsset(turn.sql, row.assetId)
    if (existing) return views.asset(existing)
    const newAsset = uploads.newAsset(row)
    await library.requireTags(turn.sql, turn.workspaceId, newAsset.tags)
    const { asset, fileId } = await library.add(turn, newAsset)
    await uploads.markComplete(turn.sql, uploadId, asset._id)
    turn.audit({ kind: 'asset', id: asset._id })
    if (fileId !== newAsset.file.fileId) {
      turn.afterCommit(() => intake.discard(row.workspaceId, newAsset.file.fileId))
    }
    return asset
  }
}
