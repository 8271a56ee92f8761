import {
  Conflict,
  NotFound,
  PlanLimit,
  PreconditionFailed,
  SearchTooBroad,
  ValidationFailed,
} from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { accepted, created, done, FILE, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf, Type } from '../../../core/schema.ts'
import { UrlRefused, UrlUnreachable } from '../../../fetch/errors.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { OPENING } from './uploads/opening.ts'
import { MAX_FILE_BYTES, UploadPath } from './uploads/schemas.ts'
import {
  DamagedFile,
  EmptyFile,
  FfmpegMissing,
  ImageTooLarge,
  UnsafeFile,
  UnsupportedFile,
} from '../../../content/errors.ts'
import { RenditionNotPossible, StorageLimit } from './errors.ts'
import { NewRendition } from './rendition-settings.ts'
import {
  AssetDetails,
  AssetEdit,
  AssetPath,
  AssetQuery,
  AssetsToDelete,
  AssetsToResolve,
  AssetView,
  DeletedRow,
  FileQuery,
  NewAssetFields,
  NewAssetFromUrl,
  RenditionView,
  ResolvedAsset,
  StorageUsageView,
  TagCount,
  ThumbnailView,
  WorkspaceQuery,
} from './schemas.ts'

export * from './folder-operations.ts'

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a51'
const UPLOAD = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a71'
const WORKSPACE = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01'

export const listAssets = operation({
  route: 'GET /api/assets',
  summary: 'List assets',
  description: 'Assets can be filtered by folder, tag, kind and text.',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: AssetQuery,
  returns: { 200: ListOf(AssetView) },
  errors: [ValidationFailed, SearchTooBroad],
  example: { query: { workspaceId: WORKSPACE, type: ['image', 'video'], sort: 'newest', limit: 20 } },
  handle: async ({ query, assets }) => list('Assets', await assets.reader.list(query)),
})

export const deleteAssets = operation({
  route: 'POST /api/assets/bulk-delete',
  summary: 'Delete multiple assets',
  description:
    'Moves the assets to the bin. Returns a result for each id: 200, 404, or 409 if a scheduled post or a broadcast needs the asset and `force` is not set. Assets in the bin do not count against the plan and are deleted after 30 days.',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: AssetsToDelete,
  returns: { 200: Envelope(Type.Array(DeletedRow)) },
  example: { body: { workspaceId: WORKSPACE, ids: [ID] } },
  handle: async ({ body, turn, assets }) =>
    ok('Assets processed', await assets.library.removeMany(turn, body.ids, body.force === true)),
})

export const uploadAsset = operation({
  route: 'POST /api/assets/upload',
  summary: 'Upload a file',
  description:
    'Images, video, audio and PDF are accepted. The type is detected from the content, and the extension of the file name must match it. A workspace stores equal contents only once.',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  body: NewAssetFields,
  upload: { kind: 'multipart', maxBytes: MAX_FILE_BYTES },
  returns: { 201: Envelope(AssetView) },
  errors: [
    NotFound,
    UnsupportedFile,
    UnsafeFile,
    DamagedFile,
    EmptyFile,
    ImageTooLarge,
    FfmpegMissing,
    PlanLimit,
    StorageLimit,
    StorageFull,
    StorageUnavailable,
  ],
  example: { body: { workspaceId: WORKSPACE, tags: ['launch'] } },
  handle: async ({ body, caller, upload, assets }) =>
    created('Asset added', await assets.assetUploads.upload(body, caller.userId, upload)),
})

export const importAsset = operation({
  route: 'POST /api/assets/import-url',
  summary: 'Add a file from a URL',
  description:
    'Fetches a file of at most 1 GB, within ten minutes, and adds it to the library like an upload. Addresses that are not public are refused, including those reached by DNS or a redirect. The name is that of the URL.',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  body: NewAssetFromUrl,
  returns: { 201: Envelope(AssetView) },
  errors: [
    UrlRefused,
    UrlUnreachable,
    NotFound,
    UnsupportedFile,
    UnsafeFile,
    DamagedFile,
    EmptyFile,
    ImageTooLarge,
    FfmpegMissing,
    PlanLimit,
    StorageLimit,
    StorageFull,
    StorageUnavailable,
  ],
  example: { body: { workspaceId: WORKSPACE, url: 'https://www.example.com/photo.jpg', tags: ['launch'] } },
  handle: async ({ body, caller, assets }) => created('Asset added', await assets.urlImports.add(body, caller.userId)),
})

export const createSignedUpload = operation({
  route: 'POST /api/assets/signed-upload',
  summary: 'Create a signed upload',
  description:
    'The URL is valid for one size, type and checksum. Send the file with PUT, whole or in pieces with Content-Range. Then confirm the upload to add the asset.',
  ...OPENING,
  handle: async ({ body, caller, assets }) =>
    created('Upload created', await assets.uploads.open(body, caller.userId, false)),
})

export const confirmSignedUpload = operation({
  route: 'POST /api/assets/signed-upload/{uploadId}/confirm',
  summary: 'Complete a signed upload',
  access: 'media:write',
  workspace: owner('uploads', 'uploadId'),
  turn: true,
  path: UploadPath,
  returns: { 201: Envelope(AssetView) },
  errors: [Conflict, NotFound, PlanLimit],
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, turn, assets }) =>
    created('Asset added', await assets.assetUploads.confirm(turn, path.uploadId)),
})

export const getStorageUsage = operation({
  route: 'GET /api/assets/storage',
  summary: 'Get storage usage',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: WorkspaceQuery,
  returns: { 200: Envelope(StorageUsageView) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, assets }) => ok('Storage', await assets.reader.usage(query.workspaceId)),
})

export const listTags = operation({
  route: 'GET /api/assets/tags',
  summary: 'List tags',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: WorkspaceQuery,
  returns: { 200: Envelope(Type.Array(TagCount)) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, assets }) => ok('Tags', await assets.reader.tags(query.workspaceId)),
})

export const getThumbnailStatus = operation({
  route: 'GET /api/assets/{id}/thumbnail',
  summary: 'Get thumbnail status',
  description: 'Poll this, or wait for the event `asset.updated`.',
  access: 'media:read',
  workspace: owner('assets'),
  path: AssetPath,
  returns: { 200: Envelope(ThumbnailView) },
  example: { path: { id: ID } },
  handle: async ({ path, assets }) => ok('Thumbnail', await assets.reader.thumbnail(path.id)),
})

export const getAsset = operation({
  route: 'GET /api/assets/{id}',
  summary: 'Get an asset',
  access: 'media:read',
  workspace: owner('assets'),
  path: AssetPath,
  etag: 'edits',
  returns: { 200: Envelope(AssetDetails) },
  example: { path: { id: ID } },
  handle: async ({ path, assets }) => ok('Asset', await assets.reader.get(path.id)),
})

export const updateAsset = operation({
  route: 'PATCH /api/assets/{id}',
  summary: 'Update an asset',
  description:
    '`deletedAt: null` restores an asset from the bin, to its folder if that still exists. GET /api/assets with `bin` lists the assets in the bin.',
  access: 'media:write',
  workspace: owner('assets'),
  turn: true,
  path: AssetPath,
  body: AssetEdit,
  etag: true,
  returns: { 200: Envelope(AssetView) },
  errors: [PlanLimit, PreconditionFailed, StorageLimit, ValidationFailed],
  example: { path: { id: ID }, body: { altText: 'Two people on a stage', tags: ['launch', 'stage'] } },
  handle: async ({ path, body, ifMatch, turn, assets }) =>
    ok('Asset updated', await assets.library.update(turn, path.id, body, ifMatch)),
})

export const deleteAsset = operation({
  route: 'DELETE /api/assets/{id}',
  summary: 'Delete an asset',
  description:
    'Moves the asset to the bin, where it stays for 30 days. With `rendition`, only that rendition is deleted, permanently. If it is still being made, the job is cancelled.',
  access: 'media:write',
  workspace: owner('assets'),
  turn: true,
  path: AssetPath,
  query: Input({ rendition: Type.Optional(Type.String({ ...Id, description: 'Id of the rendition to delete' })) }),
  returns: { 200: Done },
  errors: [Conflict, PreconditionFailed],
  example: { path: { id: ID } },
  handle: async ({ path, query, ifMatch, turn, assets }) => {
    if (query.rendition === undefined) return done(await assets.library.remove(turn, path.id, ifMatch))
    await assets.renditions.remove(turn, path.id, query.rendition)
    return done('Rendition deleted')
  },
})

export const resolveAssets = operation({
  route: 'POST /api/assets/resolve',
  summary: 'Get multiple assets',
  access: 'media:read',
  workspace: from.body('workspaceId'),
  body: AssetsToResolve,
  returns: { 200: Envelope(Type.Array(ResolvedAsset)) },
  example: { body: { workspaceId: WORKSPACE, ids: [ID] } },
  handle: async ({ body, assets }) => ok('Assets', await assets.reader.resolve(body.workspaceId, body.ids)),
})

export const transcodeAsset = operation({
  route: 'POST /api/assets/{id}/renditions',
  summary: 'Create a rendition',
  description:
    'A job makes the rendition. Sockets receive `job.progress` with `jobId`, then `rendition.updated`. GET the asset to list its renditions. A request with the same settings returns the existing rendition, and retries it if it has failed. To cancel or delete a rendition, DELETE the asset with `rendition`. Renditions count against the plan. The preset `preview` makes an HLS preview. Videos longer than ten minutes (a server setting) get one automatically.',
  access: 'media:write',
  workspace: owner('assets'),
  turn: true,
  path: AssetPath,
  body: NewRendition,
  returns: { 202: Envelope(RenditionView) },
  errors: [FfmpegMissing, PlanLimit, RenditionNotPossible, StorageLimit],
  example: { path: { id: ID }, body: { preset: 'instagram', maxBytes: 2_000_000 } },
  handle: async ({ path, body, turn, assets }) =>
    accepted('Rendition requested', await assets.renditions.create(turn, path.id, body)),
})

export const downloadAsset = operation({
  route: 'GET /api/assets/{id}/file',
  summary: 'Download a file',
  description:
    'Returns the file of the asset, or with `variant` a thumbnail or rendition. In a web page, use the `signedUrl` of an asset, a thumbnail or a rendition as the `src` of `<img>` or `<video>`. It needs no header and supports Range. If files are stored in S3, the reply redirects to a signed bucket URL. A preview is an HLS playlist whose segments have signed URLs.',
  access: 'media:read',
  workspace: owner('assets'),
  link: true,
  path: AssetPath,
  query: FileQuery,
  returns: { 200: FILE, 302: null },
  errors: [StorageUnavailable],
  example: { path: { id: ID } },
  handle: async ({ path, query, assets }) => assets.reader.file(path.id, query.variant),
})
