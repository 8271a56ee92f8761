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
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { OPENING } from '../uploads/opening.ts'
import { MOST_FILE_BYTES, UploadPath } from '../uploads/schemas.ts'
import {
  DamagedFile,
  EmptyFile,
  ImageTooLarge,
  RenditionNotPossible,
  StorageLimit,
  UnsafeFile,
  UnsupportedFile,
} from './errors.ts'
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
  summary: 'List the media library, by folder, tag, kind or text',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: AssetQuery,
  returns: { 200: ListOf(AssetView) },
  errors: [ValidationFailed, SearchTooBroad],
  example: { query: { workspaceId: WORKSPACE, type: 'image', sort: 'newest', limit: 20 } },
  handle: async ({ query, assetReader }) => list('Assets', await assetReader.list(query)),
})

export const deleteAssets = operation({
  route: 'POST /api/assets/bulk-delete',
  summary: 'Move assets to the bin, with an answer for each',
  description:
    'Each id gets a row: 200, 404, or 409 for what a scheduled post or a broadcast needs, unless `force` is set. What is in the bin counts no longer against the plan and is removed after 30 days.',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: AssetsToDelete,
  returns: { 200: Envelope(Type.Array(DeletedRow)) },
  example: { body: { workspaceId: WORKSPACE, ids: [ID] } },
  handle: async ({ body, turn, assets }) =>
    ok('Answered for each', await assets.removeMany(turn, body.ids, body.force === true)),
})

export const uploadAsset = operation({
  route: 'POST /api/assets/upload',
  summary: 'Upload a file to the media library',
  description:
    'The file streams to the storage. What it is is told from its content: images, video, sound and PDF are taken; its name must not say otherwise. A content that the workspace has already is kept once.',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  body: NewAssetFields,
  upload: { kind: 'multipart', maxBytes: MOST_FILE_BYTES },
  returns: { 201: Envelope(AssetView) },
  errors: [
    NotFound,
    UnsupportedFile,
    UnsafeFile,
    DamagedFile,
    EmptyFile,
    ImageTooLarge,
    PlanLimit,
    StorageLimit,
    StorageFull,
    StorageUnavailable,
  ],
  example: { body: { workspaceId: WORKSPACE, tags: ['launch'] } },
  handle: async ({ body, caller, upload, assetUploads }) =>
    created('Asset added', await assetUploads.take(body, caller.userId, upload)),
})

export const createSignedUpload = operation({
  route: 'POST /api/assets/signed-upload',
  summary: 'Get a signed URL to upload a large file in pieces',
  description:
    'Size, type and checksum are bound into the URL. Send the file with PUT, whole or in pieces with Content-Range, then confirm.',
  ...OPENING,
  handle: async ({ body, caller, uploads }) => created('Upload opened', await uploads.open(body, caller.userId, false)),
})

export const confirmSignedUpload = operation({
  route: 'POST /api/assets/signed-upload/{uploadId}/confirm',
  summary: 'Confirm a signed upload and make it an asset',
  access: 'media:write',
  workspace: owner('uploads', 'uploadId'),
  turn: true,
  path: UploadPath,
  returns: { 201: Envelope(AssetView) },
  errors: [Conflict, NotFound, PlanLimit],
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, turn, assetUploads }) =>
    created('Asset added', await assetUploads.confirm(turn, path.uploadId)),
})

export const getStorageUsage = operation({
  route: 'GET /api/assets/storage',
  summary: 'Say what the media library takes and what the plan has left',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: WorkspaceQuery,
  returns: { 200: Envelope(StorageUsageView) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, assetReader }) => ok('Storage', await assetReader.usage(query.workspaceId)),
})

export const listTags = operation({
  route: 'GET /api/assets/tags',
  summary: 'List the tags of assets, the most used first',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: WorkspaceQuery,
  returns: { 200: Envelope(Type.Array(TagCount)) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, assetReader }) => ok('Tags', await assetReader.tags(query.workspaceId)),
})

export const getThumbnailStatus = operation({
  route: 'GET /api/assets/{id}/thumbnail',
  summary: 'Say whether the thumbnails of an asset are there',
  access: 'media:read',
  workspace: owner('assets'),
  path: AssetPath,
  returns: { 200: Envelope(ThumbnailView) },
  example: { path: { id: ID } },
  handle: async ({ path, assetReader }) => ok('Thumbnail', await assetReader.thumbnail(path.id)),
})

export const getAsset = operation({
  route: 'GET /api/assets/{id}',
  summary: 'Get an asset with its renditions and where it is used',
  access: 'media:read',
  workspace: owner('assets'),
  path: AssetPath,
  etag: 'edits',
  returns: { 200: Envelope(AssetDetails) },
  example: { path: { id: ID } },
  handle: async ({ path, assetReader }) => ok('Asset', await assetReader.get(path.id)),
})

export const updateAsset = operation({
  route: 'PATCH /api/assets/{id}',
  summary: 'Change the name, alt text, tags or folder of an asset, or take it out of the bin',
  description:
    'What is in the bin is listed by GET /api/assets with `bin`. With `deletedAt: null` it comes back, in its folder if that is still there.',
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
    ok('Asset changed', await assets.change(turn, path.id, body, ifMatch)),
})

export const deleteAsset = operation({
  route: 'DELETE /api/assets/{id}',
  summary: 'Move an asset to the bin for 30 days, or delete one rendition',
  description:
    'With `rendition` the asset stays, and that rendition is deleted for good; when it is still being made, it is made no further.',
  access: 'media:write',
  workspace: owner('assets'),
  turn: true,
  path: AssetPath,
  query: Input({ rendition: Type.Optional(Id) }),
  returns: { 200: Done },
  errors: [Conflict, PreconditionFailed],
  example: { path: { id: ID } },
  handle: async ({ path, query, ifMatch, turn, assets, renditions }) => {
    if (query.rendition === undefined) await assets.remove(turn, path.id, ifMatch)
    else await renditions.remove(turn, path.id, query.rendition)
    return done(query.rendition === undefined ? 'Asset moved to the bin' : 'Rendition deleted')
  },
})

export const resolveAssets = operation({
  route: 'POST /api/assets/resolve',
  summary: 'Get name, type, URL and thumbnail of many assets at once',
  access: 'media:read',
  workspace: from.body('workspaceId'),
  body: AssetsToResolve,
  returns: { 200: Envelope(Type.Array(ResolvedAsset)) },
  example: { body: { workspaceId: WORKSPACE, ids: [ID] } },
  handle: async ({ body, assetReader }) => ok('Assets', await assetReader.resolve(body.workspaceId, body.ids)),
})

export const transcodeAsset = operation({
  route: 'POST /api/assets/{id}/renditions',
  summary: 'Order a rendition of an asset: for a platform, or as set',
  description:
    'A job makes it. Sockets hear of its progress as `job.progress` with `jobId`, and of its end as `rendition.updated`; GET of the asset lists it. Ordered again, the same settings give the same rendition; one that has failed is tried again. DELETE of the asset with `rendition` cancels or deletes it. Renditions count against the plan. The preset `preview` makes HLS to look through a video; a long one gets it by itself (ten minutes, unless the server says otherwise).',
  access: 'media:write',
  workspace: owner('assets'),
  turn: true,
  path: AssetPath,
  body: NewRendition,
  returns: { 202: Envelope(RenditionView) },
  errors: [RenditionNotPossible, StorageLimit],
  example: { path: { id: ID }, body: { preset: 'instagram', maxBytes: 2_000_000 } },
  handle: async ({ path, body, turn, renditions }) =>
    accepted('The rendition is being made', await renditions.order(turn, path.id, body)),
})

export const downloadAsset = operation({
  route: 'GET /api/assets/{id}/file',
  summary: 'Download the file of an asset, a thumbnail or a rendition',
  description:
    'A page shows it by the `signedUrl` of an asset, a thumbnail or a rendition, which needs no header: `<img src>`, `<video src>`, Range included. Where files are kept in S3, the answer is a redirect to a signed URL of the bucket. A preview is an HLS playlist whose pieces carry their credential, so that a player needs its `signedUrl` alone.',
  access: 'media:read',
  workspace: owner('assets'),
  link: true,
  path: AssetPath,
  query: FileQuery,
  returns: { 200: FILE, 302: null },
  errors: [StorageUnavailable],
  example: { path: { id: ID } },
  handle: async ({ path, query, assetReader }) => assetReader.file(path.id, query.variant),
})
