import { defineEntity, p } from '@mikro-orm/postgresql'
import type { ProbeResult } from '../../../../media/work/types.ts'
import type { Kind } from '../../../content/types.ts'
import { references, timestamp } from '../../../db/columns.ts'
import type { DatabaseOf } from '../../../db/query.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { AltTextOriginData } from './alt-text-origin.ts'
import type { ReceivedFile } from './intake.ts'
import type { RenditionSpec } from './rendition-settings.ts'
import type { MediaState } from './schemas.ts'
import type { UploadState } from './uploads/schemas.ts'

const texts = () => p.array().columnType('text[]')
const bytes = () => p.bigint('number')
const ofWorkspace = (name: string) => references(Workspace, { name, onDelete: 'cascade' })

/** A thumbnail. Its key in the storage is the key of the file with `.thumbnail-<name>` appended. */
export interface StoredThumbnail {
  readonly name: string
  readonly width: number
  readonly height: number
}

const AssetFolder = defineEntity({
  name: 'AssetFolder',
  tableName: 'asset_folders',
  indexes: [
    {
      name: 'asset_folders_name_key',
      expression: `create unique index asset_folders_name_key on asset_folders
        (workspace_id, coalesce(parent_id, '00000000-0000-0000-0000-000000000000'::uuid), lower(name))`,
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: ofWorkspace('asset_folders_workspace_id_fkey'),
    parentId: p.uuid().nullable(),
    name: p.text(),
    /** Assets in it, without those in the bin. Triggers keep this and the other counts (`baseline/asset-counts.ts`). */
    assetCount: p.integer().default(0),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A stored file. A workspace stores equal contents once, even if several assets use them. */
export const AssetFile = defineEntity({
  name: 'AssetFile',
  tableName: 'asset_files',
  uniques: [{ name: 'asset_files_content_key', properties: ['workspaceId', 'sha256'] }],
  indexes: [
    {
      name: 'asset_files_pending',
      expression: `create index asset_files_pending on asset_files (id) where thumbnail_state = 'pending'`,
    },
    {
      name: 'asset_files_unused',
      expression: 'create index asset_files_unused on asset_files (updated_at) where asset_count = 0',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: ofWorkspace('asset_files_workspace_id_fkey'),
    sha256: p.text(),
    size: bytes(),
    type: p.text(),
    kind: p.text().$type<Kind>(),
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    seconds: p.double().$type<number>().nullable(),
    /** The result of probing the file. Null until it has been examined, and if that failed. */
    probe: p.json<ProbeResult>().nullable(),
    thumbnailState: p.text().$type<MediaState>(),
    thumbnailError: p.text().nullable(),
    thumbnails: p.json<readonly StoredThumbnail[]>(),
    blurhash: p.text().nullable(),
    /** Assets that use it, and those of them that are not in the bin. */
    assetCount: p.integer().default(0),
    useCount: p.integer().default(0),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const Asset = defineEntity({
  name: 'Asset',
  tableName: 'assets',
  indexes: [
    { name: 'assets_by_uploader', properties: ['uploadedBy', 'id'] },
    {
      name: 'assets_by_id',
      expression: 'create index assets_by_id on assets (workspace_id, id) where deleted_at is null',
    },
    {
      name: 'assets_by_folder',
      expression: 'create index assets_by_folder on assets (folder_id, id) where folder_id is not null',
    },
    {
      name: 'assets_at_root',
      expression:
        'create index assets_at_root on assets (workspace_id, id) where folder_id is null and deleted_at is null',
    },
    {
      name: 'assets_by_kind',
      expression: 'create index assets_by_kind on assets (workspace_id, kind, id) where deleted_at is null',
    },
    {
      name: 'assets_by_size',
      expression: 'create index assets_by_size on assets (workspace_id, size, id) where deleted_at is null',
    },
    {
      name: 'assets_by_name',
      expression: 'create index assets_by_name on assets (workspace_id, lower(name), id) where deleted_at is null',
    },
    {
      name: 'assets_by_tag',
      expression: 'create index assets_by_tag on assets using gin (workspace_terms(workspace_id, tags))',
    },
    {
      name: 'assets_by_text',
      expression: `create index assets_by_text on assets using gist (workspace_id, asset_text(name, alt_text, tags) gist_trgm_ops (siglen='64'))`,
    },
    { name: 'assets_by_file', properties: ['fileId'] },
    {
      name: 'assets_in_bin_by_id',
      expression: 'create index assets_in_bin_by_id on assets (workspace_id, id) where deleted_at is not null',
    },
    {
      name: 'assets_in_bin',
      expression: 'create index assets_in_bin on assets (deleted_at) where deleted_at is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: ofWorkspace('assets_workspace_id_fkey'),
    fileId: p.uuid(),
    /** Those of the file, for the indexes of lists. */
    kind: p.text().$type<Kind>(),
    size: bytes(),
    folderId: references(AssetFolder, { name: 'assets_folder_id_fkey', onDelete: 'set null' }).nullable(),
    name: p.text(),
    altText: p.text(),
    /** Who wrote the alt text, if a model did. */
    altTextOrigin: p.json<AltTextOriginData>().nullable(),
    tags: texts(),
    uploadedBy: p.uuid(),
    /** When it was moved to the bin. */
    deletedAt: timestamp().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** What a workspace stores, without the bin. A file counts once, however many assets use it. */
const AssetCount = defineEntity({
  name: 'AssetCount',
  tableName: 'asset_counts',
  properties: {
    workspaceId: ofWorkspace('asset_counts_workspace_id_fkey').primary(),
    assetCount: p.integer().default(0),
    imageBytes: bytes().defaultRaw('0'),
    videoBytes: bytes().defaultRaw('0'),
    audioBytes: bytes().defaultRaw('0'),
    documentBytes: bytes().defaultRaw('0'),
    renditionBytes: bytes().defaultRaw('0'),
  },
})

/** How many assets outside of the bin have a tag. */
const AssetTag = defineEntity({
  name: 'AssetTag',
  tableName: 'asset_tags',
  indexes: [
    {
      name: 'asset_tags_by_count',
      expression: 'create index asset_tags_by_count on asset_tags (workspace_id, asset_count desc, tag)',
    },
  ],
  properties: {
    workspaceId: ofWorkspace('asset_tags_workspace_id_fkey').primary(),
    tag: p.text().primary(),
    assetCount: p.integer(),
  },
})

const AssetRendition = defineEntity({
  name: 'AssetRendition',
  tableName: 'asset_renditions',
  indexes: [
    { name: 'asset_renditions_by_workspace', properties: ['workspaceId'] },
    {
      name: 'asset_renditions_pending',
      expression: `create index asset_renditions_pending on asset_renditions (id) where state = 'pending'`,
    },
  ],
  uniques: [{ name: 'asset_renditions_spec_key', properties: ['assetId', 'spec'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: ofWorkspace('asset_renditions_workspace_id_fkey'),
    assetId: references(Asset, { name: 'asset_renditions_asset_id_fkey', onDelete: 'cascade' }),
    name: p.text(),
    spec: p.json<RenditionSpec>(),
    state: p.text().$type<MediaState>(),
    progress: p.integer(),
    error: p.text().nullable(),
    type: p.text().nullable(),
    size: bytes().nullable(),
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    seconds: p.double().$type<number>().nullable(),
    /** The job that makes the rendition. */
    jobId: p.uuid().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

const Upload = defineEntity({
  name: 'Upload',
  tableName: 'uploads',
  indexes: [
    { name: 'uploads_by_person', properties: ['userId', 'id'] },
    { name: 'uploads_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'uploads_by_expiry', properties: ['expiresAt'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: ofWorkspace('uploads_workspace_id_fkey'),
    userId: p.uuid(),
    /** Where the client sends the bytes: to the API, or directly to the bucket. */
    target: p.text().$type<'api' | 'storage'>(),
    name: p.text(),
    type: p.text(),
    size: bytes(),
    sha256: p.text().nullable(),
    folderId: p.uuid().nullable(),
    tags: texts(),
    state: p.text().$type<UploadState>(),
    error: p.text().nullable(),
    /** The stored file, once it has passed inspection. */
    file: p.json<ReceivedFile>().nullable(),
    assetId: p.uuid().nullable(),
    expiresAt: timestamp(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** Storage reserved for a file that is being uploaded, so that concurrent uploads cannot exceed the plan. */
const StorageReservation = defineEntity({
  name: 'StorageReservation',
  tableName: 'storage_reservations',
  indexes: [{ name: 'storage_reservations_by_workspace', properties: ['workspaceId'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: ofWorkspace('storage_reservations_workspace_id_fkey'),
    bytes: bytes(),
    expiresAt: timestamp(),
  },
})

export const assetEntities = [
  AssetFolder,
  AssetFile,
  Asset,
  AssetCount,
  AssetTag,
  AssetRendition,
  Upload,
  StorageReservation,
]

export const assetFolders = table(AssetFolder)
export const assetFiles = table(AssetFile)
export const assets = table(Asset)
export const assetCounts = table(AssetCount)
export const assetTags = table(AssetTag)
export const assetRenditions = table(AssetRendition)
export const uploads = table(Upload)
export const storageReservations = table(StorageReservation)

export type RenditionRow = Row<typeof AssetRendition>
export type UploadRow = Row<typeof Upload>

export const mediaTables = {
  assetFolders,
  assetFiles,
  assets,
  assetCounts,
  assetTags,
  assetRenditions,
  uploads,
  storageReservations,
}
export type MediaDatabase = DatabaseOf<typeof mediaTables>
