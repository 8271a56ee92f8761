import { sql } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import type { Row } from '../../../db/row.ts'
import { query } from '../../../db/query.ts'
import { fileKey } from './intake.ts'
import { assetRenditions, mediaTables, type Asset, type AssetFile, type RenditionRow } from './tables.ts'

/** What is read of the file of an asset. */
type FileFacts = Pick<
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

/** An asset with the facts of its file. */
export interface AssetRow extends Row<typeof Asset>, FileFacts {
  readonly videoCodec: string | null
  readonly audioCodec: string | null
}

/** The columns of an `AssetRow`, where `a` is a row of assets and `f` the row of its file. */
export const ASSET = [
  'a.id',
  'a.workspaceId',
  'a.fileId',
  'a.folderId',
  'a.name',
  'a.altText',
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

const assetInBinToo = query(mediaTables, (db, $: { id: string }) =>
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

/** Assets that are told of a change of their common file. */
const MOST_TOLD = 100

/** An asset that is not in the bin. */
export function findAsset(database: Sql, id: string): Promise<AssetRow | undefined> {
  return assetById.row(database, { id })
}

/** An asset, in the bin or not. It cannot be deleted for good until the transaction ends. */
export function findAssetInBinToo(database: Sql, id: string): Promise<AssetRow | undefined> {
  return assetInBinToo.row(database, { id })
}

/** Those assets of a workspace that are not in the bin. */
export function findAssets(database: Sql, workspaceId: string, ids: readonly string[]): Promise<AssetRow[]> {
  return assetsByIds.rows(database, { workspaceId, ids })
}

/** The assets that show a file. */
export function assetsOfFile(database: Sql, workspaceId: string, fileId: string): Promise<AssetRow[]> {
  return assetsByFile.rows(database, { workspaceId, fileId, limit: MOST_TOLD })
}

/** What an HLS preview is served as. */
export const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl'
export const PREVIEW_MEDIA_TYPE = 'video/mp2t'
const PLAYLIST = '.playlist'

/** Keys of the files of a rendition. Clients ask for the last one first: the playlist of a preview, else the file. */
export function renditionKeys(workspaceId: string, id: string, type: string | null): readonly [string, ...string[]] {
  const key = fileKey(workspaceId, id)
  return type === PLAYLIST_TYPE ? [key, key + PLAYLIST] : [key]
}

export function renditionsOf(database: Sql, assetId: string): Promise<RenditionRow[]> {
  return assetRenditions.find(database, { assetId }, { orderBy: ['id asc'] })
}
