import { sql } from 'kysely'
import type { ProbeResult } from '../../../../media/work/types.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { Provided } from '../../../core/provided.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { ACCEPTED, extensionContradicts, type Kind } from '../../../content/types.ts'
import { originOf, type AltTextModels } from './alt-text-origin.ts'
import type { AssetFolders } from './folders.ts'
import { assetCreated, assetDeleted, assetUpdated } from './events.ts'
import type { ReceivedFile } from './intake.ts'
import { examineAsset } from './jobs.ts'
import type { Quota } from './quota.ts'
import { cancelRenditions, type RenditionRequests } from './rendition-requests.ts'
import type { AssetData, DeletedRowData } from './schemas.ts'
import { assetsOfFile, findAsset, findAssetEvenInBin, findAssets, type AssetRow } from './store.ts'
import { assetFiles, assetFolders, assets, mediaTables, storageReservations, type StoredThumbnail } from './tables.ts'
import { useView, useWarning, type AssetUses } from './uses.ts'
import { tagsOf, type AssetTags } from './tags.ts'
import type { AssetViews } from './views.ts'
import { cleanText } from '../../../tools/clean-text.ts'

/** How long deleted assets stay in the bin. */
export const BIN_MS = 30 * DAY

/** An asset to add. */
export interface NewAsset {
  readonly file: ReceivedFile
  readonly userId: string
  readonly name: string
  readonly altText?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly folderId?: string | null | undefined
  /** The storage reservation of the file. It ends when the asset is added, because the asset itself counts then. */
  readonly reservationId: string
}

/** The result of examining a file. */
export interface Examination {
  readonly fileId: string
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  readonly probe: ProbeResult | null
  readonly thumbnails: readonly StoredThumbnail[]
  readonly blurhash: string | null
  /** Why the examination failed. */
  readonly error: string | null
}

export interface AssetChange {
  readonly name?: string
  readonly altText?: string
  readonly tags?: string[]
  readonly folderId?: string | null
  /** Restores the asset from the bin. */
  readonly deletedAt?: null
}

interface NewFile {
  readonly id: string
  readonly workspaceId: string
  readonly sha256: string
  readonly size: number
  readonly type: string
  readonly kind: Kind
  readonly width?: number | undefined
  readonly height?: number | undefined
  readonly now: Date
}

/** Adds a file. Updates `updatedAt` of an existing one, so that housekeeping does not delete it before an asset uses it. */
const upsertFile = query(mediaTables, (db, { now, ...$ }: NewFile) =>
  db
    .insertInto('assetFiles')
    .values({ ...$, thumbnailState: 'pending', thumbnails: sql`'[]'::jsonb`, createdAt: now, updatedAt: now })
    .onConflict((conflict) => conflict.columns(['workspaceId', 'sha256']).doUpdateSet({ updatedAt: now }))
    .returning(['id', 'kind', 'size']),
)

/** Changes the media library, in turns of the workspace. */
export class AssetLibrary {
  /** What knows the texts that models wrote. */
  readonly altTexts = new Provided<AltTextModels>('texts of models')
  readonly #clock: Clock
  readonly #folders: AssetFolders
  readonly #quota: Quota
  readonly #tags: AssetTags
  readonly #uses: AssetUses
  readonly #views: AssetViews
  readonly #renditions: RenditionRequests

  constructor({
    clock,
    folders,
    quota,
    renditions,
    tags,
    uses,
    views,
  }: {
    clock: Clock
    folders: AssetFolders
    quota: Quota
    tags: AssetTags
    uses: AssetUses
    views: AssetViews
    renditions: RenditionRequests
  }) {
    this.#clock = clock
    this.#folders = folders
    this.#quota = quota
    this.#tags = tags
    this.#uses = uses
    this.#views = views
    this.#renditions = renditions
  }

  /**
   * Adds an asset. If the workspace already has a file with this content, the asset uses that file. The caller checks
   * the limit on tags (`requireTags`), because recordings may exceed it.
   * @returns the asset and the id of its file
   */
  async add(turn: Turn, added: NewAsset): Promise<{ asset: AssetData; fileId: string }> {
    const now = new Date(this.#clock.now())
    const { id: fileId, kind, size } = await this.#upsertFile(turn, added.file, now)
    const id = uuidv7(now.getTime())
    const folderId = await this.#existingFolder(turn, added.folderId)
    await assets.insert(turn.sql, {
      id,
      workspaceId: turn.workspaceId,
      fileId,
      kind,
      size,
      folderId,
      name: added.name,
      altText: added.altText ?? '',
      altTextOrigin: (await originOf(this.altTexts, turn, added.altText)) ?? null,
      tags: tagsOf(added.tags ?? []),
      uploadedBy: added.userId,
      version: 1,
      createdAt: now,
      updatedAt: now,
    })
    await storageReservations.delete(turn.sql, { id: added.reservationId })
    const row = (await findAsset(turn.sql, id)) as AssetRow
    const asset = this.#views.asset(row)
    turn.emit(assetCreated, asset)
    await this.#renditions.preview(turn, row)
    return { asset, fileId }
  }

  /** Checks that the plan allows the tags of a new asset. @throws AppError plan_limit_reached */
  requireTags(database: Sql, workspaceId: string, tags: readonly string[] | undefined): Promise<void> {
    return this.#tags.requireRoom(database, workspaceId, tags)
  }

  /** Records the result of examining a file, and emits an event for every asset that uses it. */
  async recordExamination(turn: Turn, found: Examination): Promise<void> {
    const { blurhash, error, fileId, height, probe, seconds, thumbnails, width } = found
    await assetFiles.update(
      turn.sql,
      { id: fileId },
      {
        // If media work found no dimensions, those found by the inspection stay.
        width: width ?? undefined,
        height: height ?? undefined,
        seconds,
        probe,
        thumbnails,
        blurhash,
        thumbnailError: error,
        thumbnailState: error === null ? 'ready' : 'failed',
        updatedAt: new Date(this.#clock.now()),
      },
    )
    for (const row of await assetsOfFile(turn.sql, turn.workspaceId, fileId)) {
      turn.emit(assetUpdated, this.#views.asset(row))
      await this.#renditions.preview(turn, row)
    }
  }

  /**
   * Changes an asset, or restores it from the bin.
   * @throws AppError not_found, precondition_failed, validation_failed (the name), storage_limit_reached, plan_limit_reached
   */
  async update(turn: Turn, id: string, edit: AssetChange, ifMatch: IfMatch): Promise<AssetData> {
    const row = await this.#row(turn, id, edit.deletedAt === null ? findAssetEvenInBin : findAsset)
    requireVersion(ifMatch, row.version)
    requireMatchingExtension(edit.name, row)
    await this.#folders.require(turn.sql, turn.workspaceId, edit.folderId)
    if (row.deletedAt !== null) await this.#quota.requireSpaceToRestore(turn.sql, turn.workspaceId, id)
    const tags = edit.tags === undefined ? row.tags : tagsOf(edit.tags)
    if (edit.tags !== undefined || row.deletedAt !== null) await this.requireTags(turn.sql, turn.workspaceId, tags)
    await assets.update(
      turn.sql,
      { id },
      {
        name: edit.name === undefined ? undefined : fileName(edit.name),
        altText: edit.altText,
        altTextOrigin: await originOf(this.altTexts, turn, edit.altText),
        tags,
        folderId: edit.folderId,
        deletedAt: null,
        version: increment(),
        updatedAt: new Date(this.#clock.now()),
      },
    )
    turn.audit({ kind: 'asset', id })
    const updated = (await findAsset(turn.sql, id)) as AssetRow
    const asset = this.#views.asset(updated)
    turn.emit(row.deletedAt === null ? assetUpdated : assetCreated, asset)
    // Moving the asset to the bin has cancelled a preview that was being made.
    if (row.deletedAt !== null) await this.#renditions.preview(turn, updated)
    return asset
  }

  /** Moves an asset to the bin. @returns what has happened, for people. @throws AppError not_found, precondition_failed, conflict if a scheduled post or broadcast needs it */
  async remove(turn: Turn, id: string, ifMatch: IfMatch): Promise<string> {
    const row = await this.#row(turn, id)
    requireVersion(ifMatch, row.version)
    const [outcome] = await this.removeMany(turn, [id], false)
    if (outcome?.status === 'in_use') {
      throw Conflict({ message: `${outcome.message} To delete it anyway, use bulk-delete with \`force\`.` })
    }
    turn.audit({ kind: 'asset', id })
    const warning = useWarning(outcome?.usedIn ?? [])
    return warning === '' ? 'Asset moved to the bin' : `Asset moved to the bin.${warning}`
  }

  /** Moves assets to the bin, independently of each other. @returns a result for each id */
  async removeMany(turn: Turn, ids: readonly string[], force: boolean): Promise<DeletedRowData[]> {
    const existing = new Set((await findAssets(turn.sql, turn.workspaceId, ids)).map((row) => row.id))
    const uses = await this.#uses.of(turn.sql, turn.workspaceId, [...existing])
    const rows = ids.map((id): DeletedRowData => {
      const usedIn = (uses.get(id) ?? []).map(useView)
      if (!existing.has(id)) {
        return {
          _id: id,
          status: 'not_found',
          httpStatus: 404,
          message: 'The workspace has no asset with this id.',
          usedIn: [],
        }
      }
      const [first, ...others] = usedIn.filter((use) => use.scheduled)
      if (first !== undefined && !force) {
        const more = others.length === 0 ? 'needs' : `and ${others.length} more need`
        return {
          _id: id,
          status: 'in_use',
          httpStatus: 409,
          message: `The ${first.kind} “${first.title}” ${more} it.`,
          usedIn,
        }
      }
      const message = `Moved to the bin for 30 days.${useWarning(usedIn)}`
      return { _id: id, status: 'deleted', httpStatus: 200, message, usedIn }
    })
    const deleted = rows.filter((row) => row.status === 'deleted').map((row) => row._id)
    await this.#moveToBin(turn, deleted)
    return rows
  }

  /** Moves all assets of a folder to another one, including those in the bin. */
  async moveAll(turn: Turn, folderId: string, targetId: string | null): Promise<void> {
    await assets.update(turn.sql, { folderId }, { folderId: targetId })
  }

  /**
   * Moves all assets of these folders to the bin.
   * @throws AppError conflict if a scheduled post or broadcast needs one of the assets and `force` is false
   */
  async removeAll(turn: Turn, folderIds: readonly string[], force: boolean): Promise<void> {
    const rows = await assets.find(
      turn.sql,
      { folderId: anyOf(folderIds), deletedAt: null },
      { columns: ['id', 'name'], orderBy: ['id asc'] },
    )
    const ids = rows.map((row) => row.id)
    const uses = await this.#uses.of(turn.sql, turn.workspaceId, ids)
    for (const { id, name } of force ? [] : rows) {
      const use = uses.get(id)?.find(({ scheduled }) => scheduled)
      if (use === undefined) continue
      const message = `The ${use.kind} “${use.title}” needs ${name}. To delete the folder anyway, use \`force\`.`
      throw Conflict({ message, details: { assetId: id, kind: use.kind, id: use.id } })
    }
    await this.#moveToBin(turn, ids)
  }

  async #moveToBin(turn: Turn, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const now = new Date(this.#clock.now())
    await assets.update(
      turn.sql,
      { id: anyOf(ids), deletedAt: null },
      { deletedAt: now, version: increment(), updatedAt: now },
    )
    await cancelRenditions(turn.sql, ids)
    turn.emit(assetDeleted, { assetIds: [...ids] })
  }

  /** Finds the file with this content, or adds it and a job that examines it. */
  async #upsertFile(turn: Turn, file: ReceivedFile, now: Date): Promise<Pick<NewFile, 'id' | 'kind' | 'size'>> {
    const stored = await upsertFile.row(turn.sql, {
      id: file.fileId,
      workspaceId: turn.workspaceId,
      sha256: file.sha256,
      size: file.size,
      type: file.type,
      kind: file.kind,
      width: file.width ?? undefined,
      height: file.height ?? undefined,
      now,
    })
    if (stored === undefined) throw new Error('the upsert of a file returned no row')
    if (stored.id === file.fileId) turn.job(examineAsset, { fileId: stored.id })
    return stored
  }

  async #row(turn: Turn, id: string, find = findAsset): Promise<AssetRow> {
    const row = await find(turn.sql, id)
    if (row === undefined || row.workspaceId !== turn.workspaceId) throw NotFound()
    return row
  }

  /** @returns the id of the folder, or null if it was deleted during the upload */
  async #existingFolder(turn: Turn, folderId: string | null | undefined): Promise<string | null> {
    if (!folderId) return null
    const { workspaceId } = turn
    return (await assetFolders.exists(turn.sql, { id: folderId, workspaceId })) ? folderId : null
  }
}

/** Checks that the extension of a new name fits the type of the file. @throws AppError validation_failed */
function requireMatchingExtension(name: string | undefined, { type }: AssetRow): void {
  if (name === undefined || !extensionContradicts(fileName(name), type)) return
  const message = `must not have the extension of another type, because the file is a ${ACCEPTED[type]?.title ?? type}`
  throw ValidationFailed({ errors: [{ path: '/body/name', code: 'ending', message }] })
}

/**
 * Sanitizes a file name. Keeps the part after the last slash, removes control characters and marks that change the text
 * direction (they can make `exe.gnp` look like `png.exe`), and normalizes it to Unicode form C, as searches expect.
 */
export function fileName(name: string): string {
  const clean = (cleanText(name).normalize().split(/[/\\]/).at(-1) ?? '')
    .replaceAll(/[\t\n\r\u0085\u202A-\u202E\u2066-\u2069]/g, '')
    .trim()
  return clean === '' || /^\.+$/.test(clean) ? 'file' : Array.from(clean).slice(0, 255).join('')
}
