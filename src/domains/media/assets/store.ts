import type { Sql } from '../../../core/sql.ts'
import type { Kind } from '../../../content/types.ts'
import { fileKey } from './intake.ts'
import type { MediaState } from './schemas.ts'

/** A thumbnail as it is stored: its key is the file's with `.<name>` behind it. */
export interface StoredThumbnail {
  readonly name: string
  readonly width: number
  readonly height: number
}

/** An asset with its file, as the database has them. */
export interface AssetRow {
  readonly id: string
  readonly workspace_id: string
  readonly file_id: string
  readonly folder_id: string | null
  readonly name: string
  readonly alt_text: string
  readonly tags: string[]
  readonly uploaded_by: string
  readonly deleted_at: string | null
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  readonly sha256: string
  readonly size: number
  readonly type: string
  readonly kind: Kind
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  readonly video_codec: string | null
  readonly audio_codec: string | null
  readonly thumbnail_state: MediaState
  readonly thumbnail_error: string | null
  readonly thumbnails: StoredThumbnail[]
  readonly blurhash: string | null
}

export const SELECT_ASSET = `
  select a.id, a.workspace_id, a.file_id, a.folder_id, a.name, a.alt_text, a.tags, a.uploaded_by, a.deleted_at, a.version, a.created_at,
    a.updated_at, f.sha256, f.size, f.type, f.kind, f.width, f.height, f.seconds, f.probe->'video'->>'codec' as video_codec,
    f.probe->'audio'->>'codec' as audio_codec, f.thumbnail_state, f.thumbnail_error, f.thumbnails, f.blurhash
  from assets a join asset_files f on f.id = a.file_id`

const IN_BIN_TOO_LOCKED = `${SELECT_ASSET} where a.id = $1 for update of a`
const BY_ID = `${SELECT_ASSET} where a.id = $1 and a.deleted_at is null`
const BY_IDS = `${SELECT_ASSET} where a.workspace_id = $1 and a.id = any($2) and a.deleted_at is null`
const BY_FILE = `${SELECT_ASSET} where a.workspace_id = $1 and a.file_id = $2 and a.deleted_at is null order by a.id limit 100`

/** Assets in the bin are not found. */
export function findAsset(sql: Sql, id: string): Promise<AssetRow | undefined> {
  return sql.row<AssetRow>(BY_ID, [id])
}

/** Those too that are in the bin, which is not emptied of it before the end of the transaction. */
export function findAssetInBinToo(sql: Sql, id: string): Promise<AssetRow | undefined> {
  return sql.row<AssetRow>(IN_BIN_TOO_LOCKED, [id])
}

export function findAssets(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<AssetRow[]> {
  return sql.rows<AssetRow>(BY_IDS, [workspaceId, ids])
}

export function assetsOfFile(sql: Sql, workspaceId: string, fileId: string): Promise<AssetRow[]> {
  return sql.rows<AssetRow>(BY_FILE, [workspaceId, fileId])
}

export interface RenditionRow {
  readonly id: string
  readonly workspace_id: string
  readonly asset_id: string
  readonly name: string
  readonly state: MediaState
  readonly progress: number
  readonly error: string | null
  readonly type: string | null
  readonly size: number | null
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  readonly job_id: string | null
  readonly created_at: string
  readonly updated_at: string
}

export const SELECT_RENDITION = `r.id, r.workspace_id, r.asset_id, r.name, r.state, r.progress, r.error, r.type, r.size,
  r.width, r.height, r.seconds, r.job_id, r.created_at, r.updated_at`

/** A rendition whose job will still run, or runs. */
export const AT_WORK = `exists (select 1 from outbox o where o.id = r.job_id and o.state <> 'dead')`

/** What an HLS preview is served as. */
export const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl'
export const PREVIEW_MEDIA_TYPE = 'video/mp2t'
const PLAYLIST = '.playlist'

/** Where a rendition lies; the last one is what is asked for first: of a preview the playlist, of all others the file. */
export function renditionKeys(workspaceId: string, id: string, type: string | null): readonly [string, ...string[]] {
  const key = fileKey(workspaceId, id)
  return type === PLAYLIST_TYPE ? [key, key + PLAYLIST] : [key]
}

export function renditionsOf(sql: Sql, assetId: string): Promise<RenditionRow[]> {
  return sql.rows<RenditionRow>(`select ${SELECT_RENDITION} from asset_renditions r where asset_id = $1 order by id`, [
    assetId,
  ])
}
