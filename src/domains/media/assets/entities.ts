import { defineEntity, p } from '@mikro-orm/postgresql'

const time = () => p.datetime().columnType('timestamptz')
const texts = () => p.array().columnType('text[]')
const bytes = () => p.bigint('number')

const FolderSchema = defineEntity({
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
    workspaceId: p.uuid(),
    parentId: p.uuid().nullable(),
    name: p.text(),
    createdAt: time(),
    updatedAt: time(),
  },
})

/** A content: kept once in a workspace, however many assets show it. */
const FileSchema = defineEntity({
  name: 'AssetFile',
  tableName: 'asset_files',
  uniques: [{ name: 'asset_files_content_key', properties: ['workspaceId', 'sha256'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    sha256: p.text(),
    size: bytes(),
    type: p.text(),
    kind: p.text(),
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    seconds: p.double().nullable(),
    probe: p.json().nullable(),
    thumbnailState: p.text(),
    thumbnailError: p.text().nullable(),
    thumbnails: p.json(),
    blurhash: p.text().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
})

const AssetSchema = defineEntity({
  name: 'Asset',
  tableName: 'assets',
  indexes: [
    {
      name: 'assets_by_time',
      expression:
        'create index assets_by_time on assets (workspace_id, created_at desc, id desc) where deleted_at is null',
    },
    {
      name: 'assets_by_folder',
      expression: 'create index assets_by_folder on assets (folder_id) where folder_id is not null',
    },
    { name: 'assets_by_tag', expression: 'create index assets_by_tag on assets using gin (tags)' },
    { name: 'assets_by_file', properties: ['fileId'] },
    {
      name: 'assets_in_bin_by_time',
      expression:
        'create index assets_in_bin_by_time on assets (workspace_id, created_at desc, id desc) where deleted_at is not null',
    },
    {
      name: 'assets_in_bin',
      expression: 'create index assets_in_bin on assets (deleted_at) where deleted_at is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    fileId: p.uuid(),
    folderId: p.uuid().nullable(),
    name: p.text(),
    altText: p.text(),
    tags: texts(),
    uploadedBy: p.uuid(),
    /** When it went to the bin. */
    deletedAt: time().nullable(),
    version: p.integer(),
    createdAt: time(),
    updatedAt: time(),
  },
})

const RenditionSchema = defineEntity({
  name: 'AssetRendition',
  tableName: 'asset_renditions',
  indexes: [{ name: 'asset_renditions_by_workspace', properties: ['workspaceId'] }],
  uniques: [{ name: 'asset_renditions_spec_key', properties: ['assetId', 'spec'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    assetId: p.uuid(),
    name: p.text(),
    spec: p.json(),
    state: p.text(),
    progress: p.integer(),
    error: p.text().nullable(),
    type: p.text().nullable(),
    size: bytes().nullable(),
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    seconds: p.double().nullable(),
    jobId: p.uuid().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
})

const UploadSchema = defineEntity({
  name: 'Upload',
  tableName: 'uploads',
  indexes: [
    {
      name: 'uploads_by_time',
      expression: 'create index uploads_by_time on uploads (workspace_id, created_at desc, id desc)',
    },
    { name: 'uploads_by_expiry', properties: ['expiresAt'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    userId: p.uuid(),
    /** `api` where the bytes come through Crier, `storage` where they go to the bucket itself. */
    target: p.text(),
    name: p.text(),
    type: p.text(),
    size: bytes(),
    sha256: p.text().nullable(),
    folderId: p.uuid().nullable(),
    tags: texts(),
    state: p.text(),
    error: p.text().nullable(),
    /** What came, once it was looked at. */
    file: p.json().nullable(),
    assetId: p.uuid().nullable(),
    expiresAt: time(),
    createdAt: time(),
    updatedAt: time(),
  },
})

/** Room that an upload under way holds, so that uploads at the same time do not exceed the plan together. */
const ReservationSchema = defineEntity({
  name: 'StorageReservation',
  tableName: 'storage_reservations',
  indexes: [{ name: 'storage_reservations_by_workspace', properties: ['workspaceId'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    bytes: bytes(),
    expiresAt: time(),
  },
})

export const assetEntities = [FolderSchema, FileSchema, AssetSchema, RenditionSchema, UploadSchema, ReservationSchema]
