import { sql } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import type { Row } from '../../../db/row.ts'
import { query } from '../../../db/query.ts'
import { fileKey } from './intake.ts'
import { assetRenditions, mediaTables, type Asset, type AssetFile, type RenditionRow } from './tables.ts'

/** The columns of an asset's file that are read with the asset. */
type FileColumns = Pick<
  Row<typeof AssetFile>,
  | 'sha256'
  | 'size'
  | 'type'
  | 'kind'
  | 'width'
  | 'height'
  | 'seconds'
  | 'thumbnailState'
  | 'thumbnailError'
  | 'thumbnails'
  | 'blurhash'
>

/** An asset with the columns of its file. */
export interface AssetRow extends Row<typeof Asset>, FileColumns {
  readonly videoCodec: string | null
  readonly audioCodec: string | null
}

/** The columns of an `AssetRow`, for a query with the asset as `a` and its file as `f`. */
export const ASSET = [
  'a.id',
  'a.workspaceId',
  'a.fileId',
  'a.folderId',
  'a.name',
  'a.altText',
  'a.altTextOrigin',
  'a.tags',
  'a.uploadedBy',
  'a.deletedAt',
  'a.version',
  'a.createdAt',
  'a.updatedAt',
  'f.sha256',
  'f.size',
  'f.type',
  'f.kind',
  'f.width',
  'f.height',
  'f.seconds',
  'f.thumbnailState',
  'f.thumbnailError',
  'f.thumbnails',
  'f.blurhash',
  sql<string | null>`f.probe->'video'->>'codec'`.as('videoCodec'),
  sql<string | null>`f.probe->'audio'->>'codec'`.as('audioCodec'),
] as const

const assetById = query(mediaTables, (db, $: { id: string }) =>
  db
    .selectFrom('assets as a')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select(ASSET)
    .where('a.id', '=', $.id)
    .where('a.deletedAt', 'is', null),
)

const assetEvenInBin = query(mediaTables, (db, $: { id: string }) =>
  db
    .selectFrom('assets as a')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select(ASSET)
    .where('a.id', '=', $.id)
    .forUpdate('a'),
)

const assetsByIds = query(mediaTables, (db, $: { workspaceId: string; ids: readonly string[] }) =>
  db
    .selectFrom('assets as a')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select(ASSET)
    .where('a.workspaceId', '=', $.workspaceId)
    .where('a.id', '=', sql<string>`any(${$.ids})`)
    .where('a.deletedAt', 'is', null),
)

const assetsByFile = query(mediaTables, (db, $: { workspaceId: string; fileId: string; limit: number }) =>
  db
    .selectFrom('assets as a')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select(ASSET)
    .where('a.workspaceId', '=', $.workspaceId)
    .where('a.fileId', '=', $.fileId)
    .where('a.deletedAt', 'is', null)
    .orderBy('a.id')
    .limit($.limit),
)

/** Maximum number of assets for which a change of their common file emits an event. */
const MAX_ASSETS_PER_FILE = 100

/** An asset that is not in the bin. */
export function findAsset(database: Sql, id: string): Promise<AssetRow | undefined> {
  return assetById.row(database, { id })
}

/** An asset, whether in the bin or not. Its row stays locked until the transaction ends. */
export function findAssetEvenInBin(database: Sql, id: string): Promise<AssetRow | undefined> {
  return assetEvenInBin.row(database, { id })
}

/** Assets of a workspace by id, except those in the bin. */
export function findAssets(database: Sql, workspaceId: string, ids: readonly string[]): Promise<AssetRow[]> {
  return assetsByIds.rows(database, { workspaceId, ids })
}

/** The assets that use a file, except those in the bin. */
export function assetsOfFile(database: Sql, workspaceId: string, fileId: string): Promise<AssetRow[]> {
  return assetsByFile.rows(database, { workspaceId, fileId, limit: MAX_ASSETS_PER_FILE })
}

/** Media types of an HLS preview: its playlist and its segments. */
export const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl'
export const PREVIEW_MEDIA_TYPE = 'video/mp2t'
const PLAYLIST_SUFFIX = '.playlist'

/** Storage keys of the files of a rendition: the media file, and for a preview also the playlist. */
export function renditionKeys(workspaceId: string, id: string, type: string | null): readonly [string, ...string[]] {
  const key = fileKey(workspaceId, id)
  return type === PLAYLIST_TYPE ? [key, key + PLAYLIST_SUFFIX] : [key]
}

export function renditionsOf(database: Sql, assetId: string): Promise<RenditionRow[]> {
  return assetRenditions.find(database, { assetId }, { orderBy: ['id asc'] })
}

// The states are literals, because PostgreSQL does not use the partial indexes with parameters.
const pendingFilesQuery = query(mediaTables, (db) =>
  db
    .selectFrom('assetFiles')
    .select(['id', 'workspaceId'])
    .where(sql<boolean>`thumbnail_state = 'pending'`),
)
const pendingRenditionsQuery = query(mediaTables, (db) =>
  db
    .selectFrom('assetRenditions')
    .select(['id', 'workspaceId', 'jobId'])
    .where(sql<boolean>`state = 'pending'`),
)

/** The files that wait for their examination. */
export function pendingFiles(database: Sql): Promise<{ id: string; workspaceId: string }[]> {
  return pendingFilesQuery.rows(database, {})
}

/** The renditions that are still to be made. */
export function pendingRenditions(database: Sql): Promise<{ id: string; workspaceId: string; jobId: string | null }[]> {
  return pendingRenditionsQuery.rows(database, {})
}
