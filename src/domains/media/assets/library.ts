import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { ACCEPTED, contradicts } from '../../../content/types.ts'
import type { AssetFolders } from './folders.ts'
import { assetCreated, assetDeleted, assetUpdated } from './events.ts'
import type { Received } from './intake.ts'
import { examineAsset } from './jobs.ts'
import type { Quota } from './quota.ts'
import { cancelRenditions, type Renditions } from './renditions.ts'
import type { AssetData, DeletedRowData } from './schemas.ts'
import { assetsOfFile, findAsset, findAssetInBinToo, findAssets, type AssetRow, type StoredThumbnail } from './store.ts'
import { useView, type AssetUses } from './uses.ts'
import { tagsOf, type AssetTags } from './tags.ts'
import type { AssetViews } from './views.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly assets: AssetLibrary
  }
}

/** How long deleted assets stay in the bin. */
export const BIN_MS = 30 * DAY

/** What becomes an asset. */
export interface NewAsset {
  readonly file: Received
  readonly userId: string
  readonly name: string
  readonly altText?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly folderId?: string | null | undefined
  /** Room held for it, which it now takes itself. */
  readonly heldAs: string
}

/** What looking at a file has brought. */
export interface Examined {
  readonly fileId: string
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  readonly probe: object | null
  readonly thumbnails: readonly StoredThumbnail[]
  readonly blurhash: string | null
  /** Why there is no thumbnail. */
  readonly error: string | null
}

export interface AssetChange {
  readonly name?: string
  readonly altText?: string
  readonly tags?: string[]
  readonly folderId?: string | null
  /** Out of the bin. */
  readonly deletedAt?: null
}

interface LibraryNeeds {
  readonly clock: Clock
  readonly folders: AssetFolders
  readonly quota: Quota
  readonly tags: AssetTags
  readonly uses: AssetUses
  readonly views: AssetViews
  readonly renditions: Renditions
}

/** Changes of the media library. All of them are turns of their workspace. */
export class AssetLibrary {
  readonly #clock: Clock
  readonly #folders: AssetFolders
  readonly #quota: Quota
  readonly #tags: AssetTags
  readonly #uses: AssetUses
  readonly #views: AssetViews
  readonly #renditions: Renditions

  constructor({ clock, folders, quota, renditions, tags, uses, views }: LibraryNeeds) {
    this.#clock = clock
    this.#folders = folders
    this.#quota = quota
    this.#tags = tags
    this.#uses = uses
    this.#views = views
    this.#renditions = renditions
  }

  /**
   * Adds an asset. A content that the workspace has already is not kept twice. Whether the plan has room for its tags is
   * the caller's business (`requireTags`): a recording is kept in any case.
   * @returns the asset, and the stored file that it shows, which may be an older one
   */
  async add(turn: Turn, added: NewAsset): Promise<{ asset: AssetData; fileId: string }> {
    const now = new Date(this.#clock.now())
    const fileId = await this.#file(turn, added.file, now)
    const id = uuidv7(now.getTime())
    const folderId = await this.#folderStillThere(turn, added.folderId)
    await turn.sql.run(
      `insert into assets (id, workspace_id, file_id, folder_id, name, alt_text, tags, uploaded_by, version, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $9)`,
      [
        id,
        turn.workspaceId,
        fileId,
        folderId,
        added.name,
        added.altText ?? '',
        tagsOf(added.tags ?? []),
        added.userId,
        now,
      ],
    )
    await turn.sql.run('delete from storage_reservations where id = $1', [added.heldAs])
    const row = (await findAsset(turn.sql, id)) as AssetRow
    const asset = this.#views.asset(row)
    turn.emit(assetCreated, asset)
    await this.#renditions.preview(turn, row)
    return { asset, fileId }
  }

  /** Room in the plan for the tags of an asset to be added. @throws AppError plan_limit_reached */
  requireTags(sql: Sql, workspaceId: string, tags: readonly string[] | undefined): Promise<void> {
    return this.#tags.requireRoom(sql, workspaceId, tags)
  }

  /** Writes down what looking at a file has brought; to every asset that shows it. */
  async noteExamined(turn: Turn, found: Examined): Promise<void> {
    await turn.sql.run(
      `update asset_files set width = coalesce($2, width), height = coalesce($3, height), seconds = $4, probe = $5,
         thumbnails = $6, blurhash = $7, thumbnail_error = $8, thumbnail_state = $9, updated_at = $10 where id = $1`,
      [
        found.fileId,
        found.width,
        found.height,
        found.seconds,
        found.probe === null ? null : JSON.stringify(found.probe),
        JSON.stringify(found.thumbnails),
        found.blurhash,
        found.error,
        found.error === null ? 'ready' : 'failed',
        new Date(this.#clock.now()),
      ],
    )
    for (const row of await assetsOfFile(turn.sql, turn.workspaceId, found.fileId)) {
      turn.emit(assetUpdated, this.#views.asset(row))
      await this.#renditions.preview(turn, row)
    }
  }

  /**
   * Changes an asset, and takes it out of the bin where that is asked for.
   * @throws AppError not_found, precondition_failed, validation_failed (the name), storage_limit_reached, plan_limit_reached
   */
  async change(turn: Turn, id: string, edit: AssetChange, ifMatch: IfMatch): Promise<AssetData> {
    const row = await this.#own(turn, id, edit.deletedAt === null ? findAssetInBinToo : findAsset)
    requireVersion(ifMatch, row.version)
    requireFittingName(edit.name, row)
    await this.#folders.require(turn.sql, turn.workspaceId, edit.folderId)
    if (row.deleted_at !== null) await this.#quota.requireRoomFor(turn.sql, turn.workspaceId, id)
    const tags = edit.tags === undefined ? row.tags : tagsOf(edit.tags)
    if (edit.tags !== undefined || row.deleted_at !== null) await this.requireTags(turn.sql, turn.workspaceId, tags)
    await turn.sql.run(
      `update assets set name = $2, alt_text = $3, tags = $4, folder_id = $5, version = version + 1, updated_at = $6,
         deleted_at = null where id = $1`,
      [
        id,
        edit.name === undefined ? row.name : fileName(edit.name),
        edit.altText ?? row.alt_text,
        tags,
        edit.folderId === undefined ? row.folder_id : edit.folderId,
        new Date(this.#clock.now()),
      ],
    )
    turn.audit({ kind: 'asset', id })
    const changed = (await findAsset(turn.sql, id)) as AssetRow
    const shown = this.#views.asset(changed)
    turn.emit(row.deleted_at === null ? assetUpdated : assetCreated, shown)
    // Those that were being made went with the asset.
    if (row.deleted_at !== null) await this.#renditions.preview(turn, changed)
    return shown
  }

  /** To the bin. @throws AppError not_found, precondition_failed, conflict when a scheduled post or a broadcast needs it */
  async remove(turn: Turn, id: string, ifMatch: IfMatch): Promise<void> {
    const row = await this.#own(turn, id)
    requireVersion(ifMatch, row.version)
    const [outcome] = await this.removeMany(turn, [id], false)
    if (outcome?.status === 'in_use') {
      throw Conflict({ message: `${outcome.message} To delete it all the same, use bulk-delete with \`force\`.` })
    }
    turn.audit({ kind: 'asset', id })
  }

  /** To the bin, each on its own: a row for every id. */
  async removeMany(turn: Turn, ids: readonly string[], force: boolean): Promise<DeletedRowData[]> {
    const there = new Set((await findAssets(turn.sql, turn.workspaceId, ids)).map((row) => row.id))
    const uses = await this.#uses.of(turn.sql, turn.workspaceId, [...there])
    const rows = ids.map((id): DeletedRowData => {
      const usedIn = (uses.get(id) ?? []).map(useView)
      if (!there.has(id)) {
        return { _id: id, status: 'not_found', httpStatus: 404, message: 'There is no such asset.', usedIn: [] }
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
      return { _id: id, status: 'deleted', httpStatus: 200, message: 'In the bin for 30 days.', usedIn }
    })
    const gone = rows.filter((row) => row.status === 'deleted').map((row) => row._id)
    await this.#toBin(turn, gone)
    return rows
  }

  /** Moves what is in a folder elsewhere, also what is in the bin. */
  async moveAll(turn: Turn, folderId: string, into: string | null): Promise<void> {
    await turn.sql.run('update assets set folder_id = $2 where folder_id = $1', [folderId, into])
  }

  /**
   * Everything in these folders goes to the bin, out of which it comes back without a folder.
   * @throws AppError conflict unless forced, when a scheduled post or a broadcast needs one of them
   */
  async removeAll(turn: Turn, folderIds: readonly string[], force: boolean): Promise<void> {
    const rows = await turn.sql.rows<{ id: string; name: string }>(
      'select id, name from assets where folder_id = any($1) and deleted_at is null order by id',
      [folderIds],
    )
    const ids = rows.map((row) => row.id)
    const uses = await this.#uses.of(turn.sql, turn.workspaceId, ids)
    for (const { id, name } of force ? [] : rows) {
      const use = uses.get(id)?.find(({ scheduled }) => scheduled)
      if (use === undefined) continue
      const message = `The ${use.kind} “${use.title}” needs ${name}. To delete the folder all the same, use \`force\`.`
      throw Conflict({ message, details: { assetId: id, kind: use.kind, id: use.id } })
    }
    await this.#toBin(turn, ids)
    await turn.sql.run('update assets set folder_id = null where folder_id = any($1)', [folderIds])
  }

  async #toBin(turn: Turn, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await turn.sql.run(
      'update assets set deleted_at = $2, version = version + 1, updated_at = $2 where id = any($1) and deleted_at is null',
      [ids, new Date(this.#clock.now())],
    )
    await cancelRenditions(turn.sql, ids)
    turn.emit(assetDeleted, { assetIds: [...ids] })
  }

  /** The row of a content; made when the workspace does not have it, with the work that every new content needs. */
  async #file(turn: Turn, file: Received, now: Date): Promise<string> {
    // Touched where it is known: who removes what no asset shows leaves alone what was wanted a moment ago.
    const row = await turn.sql.row<{ id: string }>(
      `insert into asset_files (id, workspace_id, sha256, size, type, kind, width, height, thumbnail_state, thumbnails, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', '[]', $9, $9)
       on conflict (workspace_id, sha256) do update set updated_at = excluded.updated_at returning id`,
      [file.fileId, turn.workspaceId, file.sha256, file.size, file.type, file.kind, file.width, file.height, now],
    )
    if (row === undefined) throw new Error('a content is neither new nor known')
    if (row.id === file.fileId) turn.job(examineAsset, { fileId: row.id })
    return row.id
  }

  async #own(turn: Turn, id: string, find = findAsset): Promise<AssetRow> {
    const row = await find(turn.sql, id)
    if (row === undefined || row.workspace_id !== turn.workspaceId) throw NotFound()
    return row
  }

  /** A folder may be deleted while a file is on its way to it. */
  async #folderStillThere(turn: Turn, folderId: string | null | undefined): Promise<string | null> {
    if (!folderId) return null
    const row = await turn.sql.row('select 1 as one from asset_folders where id = $1 and workspace_id = $2', [
      folderId,
      turn.workspaceId,
    ])
    return row ? folderId : null
  }
}

/** Removes assets of deleted workspaces for good; their files are found by the sweep. */
export async function purgeAssets(sql: Sql, workspaceIds: readonly string[]): Promise<void> {
  await sql.run('delete from asset_renditions where workspace_id = any($1)', [workspaceIds])
  await sql.run('delete from assets where workspace_id = any($1)', [workspaceIds])
  await sql.run('delete from asset_files where workspace_id = any($1)', [workspaceIds])
  await sql.run('delete from asset_folders where workspace_id = any($1)', [workspaceIds])
  await sql.run('delete from uploads where workspace_id = any($1)', [workspaceIds])
  await sql.run('delete from storage_reservations where workspace_id = any($1)', [workspaceIds])
}

/** @throws AppError validation_failed for a name that says that the file is something else */
function requireFittingName(name: string | undefined, { type }: AssetRow): void {
  if (name === undefined || !contradicts(fileName(name), type)) return
  const message = `must not end as if the file were no ${ACCEPTED[type]?.title ?? type}`
  throw ValidationFailed({ errors: [{ path: '/body/name', code: 'ending', message }] })
}

/**
 * A name without folders and control characters, those that turn its direction among them (`exe.gnp` backwards is no
 * picture), as it is searched for: Macs send accents as signs of their own.
 */
export function fileName(name: string): string {
  const clean = (name.normalize().split(/[/\\]/).at(-1) ?? '')
    // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
    .replaceAll(/[\u0000-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g, '')
    .trim()
  return clean === '' || /^\.+$/.test(clean) ? 'file' : Array.from(clean).slice(0, 255).join('')
}
