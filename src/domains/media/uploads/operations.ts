import {
  BadSignature,
  DamagedFile,
  EmptyFile,
  ImageTooLarge,
  StorageLimit,
  UnsafeFile,
  UnsupportedFile,
  UploadMismatch,
} from '../assets/errors.ts'
import { AssetDetails } from '../assets/schemas.ts'
import { Conflict, PlanLimit } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { OPENING } from './opening.ts'
import { MediaUrl, MediaUrlView, MOST_FILE_BYTES, SignedQuery, UploadPath, UploadQuery, UploadView } from './schemas.ts'

const UPLOAD = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a71'
const WORKSPACE = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01'
const CONTENT = [UnsupportedFile, UnsafeFile, DamagedFile, EmptyFile, ImageTooLarge, UploadMismatch, StorageLimit]

export const createUpload = operation({
  route: 'POST /api/uploads/signed-url',
  summary: 'Start to upload a file and get the signed URL to send it to',
  description:
    'Where files are kept in S3, the URL is the bucket’s own, and size, type and checksum are bound into its signature. Otherwise it is PUT /api/uploads/{uploadId}/content, which takes pieces too. POST /api/uploads/{uploadId}/complete makes the asset.',
  ...OPENING,
  handle: async ({ body, caller, uploads }) => created('Upload opened', await uploads.open(body, caller.userId, true)),
})

export const putUpload = operation({
  route: 'PUT /api/uploads/{uploadId}/content',
  summary: 'Upload the bytes of a file to its signed URL, whole or in pieces',
  description:
    'Without Content-Range the body is the whole file. `Content-Range: bytes <first>-<last>/<size>` sends a piece, which must begin where the last one ended; after a cut, `bytes */<size>` with an empty body (or GET of the upload) tells how much is there. With the last byte the file is looked at, and refused when it is not what was announced; from then on only the same bytes may be sent again. The URL stops working when the member who opened the upload may not add media any more.',
  access: 'public',
  path: UploadPath,
  query: SignedQuery,
  upload: { kind: 'raw', maxBytes: MOST_FILE_BYTES, ranges: true },
  returns: { 200: Envelope(UploadView) },
  errors: [BadSignature, Conflict, StorageFull, StorageUnavailable, ...CONTENT],
  example: {
    path: { uploadId: UPLOAD },
    query: { expires: 1_793_534_400, signature: 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY' },
  },
  handle: async ({ path, query, upload, uploads }) => ok('Received', await uploads.take(path.uploadId, query, upload)),
})

export const listUploads = operation({
  route: 'GET /api/uploads',
  summary: 'List the uploads of a workspace, newest first',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: UploadQuery,
  returns: { 200: ListOf(UploadView) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, uploads }) => list('Uploads', await uploads.list(query)),
})

export const getUpload = operation({
  route: 'GET /api/uploads/{uploadId}',
  summary: 'Get how far an upload is',
  access: 'media:read',
  workspace: owner('uploads', 'uploadId'),
  path: UploadPath,
  returns: { 200: Envelope(UploadView) },
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, uploads }) => ok('Upload', await uploads.get(path.uploadId)),
})

export const deleteUpload = operation({
  route: 'DELETE /api/uploads/{uploadId}',
  summary: 'Cancel an upload and discard what came of it',
  description: 'An asset that was made of it stays.',
  access: 'media:write',
  workspace: owner('uploads', 'uploadId'),
  path: UploadPath,
  returns: { 200: Done },
  errors: [StorageUnavailable],
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, uploads }) => {
    await uploads.remove(path.uploadId)
    return done('Upload dropped')
  },
})

export const completeUpload = operation({
  route: 'POST /api/uploads/{uploadId}/complete',
  summary: 'Confirm an upload and make it an asset',
  access: 'media:write',
  workspace: owner('uploads', 'uploadId'),
  path: UploadPath,
  returns: { 201: Envelope(AssetDetails) },
  errors: [Conflict, PlanLimit, StorageUnavailable, ...CONTENT],
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, caller, uploads, assetReader }) =>
    created('Asset added', await assetReader.get(await uploads.complete(path.uploadId, caller.userId))),
})

export const validateMediaUrl = operation({
  route: 'POST /api/uploads/validate-url',
  summary: 'Say whether a media URL can be fetched, and which platforms would take it',
  description:
    'The URL is fetched as from outside: addresses that are not public are refused, however they are written, resolved or redirected to. A URL that fails is answered with the reason. Length of videos is not checked here.',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  body: MediaUrl,
  returns: { 200: Envelope(MediaUrlView) },
  example: { body: { workspaceId: WORKSPACE, url: 'http://127.0.0.1/photo.jpg', platforms: ['instagram', 'x'] } },
  handle: async ({ body, urlCheck }) => ok('Checked', await urlCheck.check(body.url, body.platforms)),
})
