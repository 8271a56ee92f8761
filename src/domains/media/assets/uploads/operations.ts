import { DamagedFile, EmptyFile, ImageTooLarge, UnsafeFile, UnsupportedFile } from '../../../../content/errors.ts'
import { BadSignature, StorageLimit, UploadMismatch } from '../errors.ts'
import { AssetDetails } from '../schemas.ts'
import { Conflict, PlanLimit } from '../../../../core/errors.ts'
import { from, operation, owner } from '../../../../core/operation.ts'
import { created, done, list, ok } from '../../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../../storage/errors.ts'
import { OPENING } from './opening.ts'
import { MediaUrl, MediaUrlView, MAX_FILE_BYTES, SignedQuery, UploadPath, UploadQuery, UploadView } from './schemas.ts'

const UPLOAD = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a71'
const WORKSPACE = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01'
const CONTENT = [UnsupportedFile, UnsafeFile, DamagedFile, EmptyFile, ImageTooLarge, UploadMismatch, StorageLimit]

export const createUpload = operation({
  route: 'POST /api/uploads/signed-url',
  summary: 'Create an upload',
  description:
    'If files are stored in S3, the URL is a bucket URL signed for the size, type and checksum. Otherwise it is PUT /api/uploads/{uploadId}/content, which also accepts pieces. POST /api/uploads/{uploadId}/complete adds the asset.',
  ...OPENING,
  handle: async ({ body, caller, assets }) =>
    created('Upload created', await assets.uploads.open(body, caller.userId, true)),
})

export const putUpload = operation({
  route: 'PUT /api/uploads/{uploadId}/content',
  summary: 'Send upload content',
  description:
    'Without Content-Range, the body is the whole file. With `Content-Range: bytes <first>-<last>/<size>`, it is a piece, which must start where the last one ended. After an interruption, GET the upload to find out how many bytes were received, or send an empty body with an asterisk in place of the range (RFC 9110, 14.4). After the last byte, the file is inspected, and refused if it does not match the upload. From then on, only the same bytes are accepted again. The URL stops working when the member who created the upload is no longer allowed to add media.',
  access: 'public',
  path: UploadPath,
  query: SignedQuery,
  upload: { kind: 'raw', maxBytes: MAX_FILE_BYTES, ranges: true },
  returns: { 200: Envelope(UploadView) },
  errors: [BadSignature, Conflict, StorageFull, StorageUnavailable, ...CONTENT],
  example: {
    path: { uploadId: UPLOAD },
    query: { expires: 1_793_534_400, signature: 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY' },
  },
  handle: async ({ path, query, upload, assets }) =>
    ok('Content received', await assets.uploads.receive(path.uploadId, query, upload)),
})

export const listUploads = operation({
  route: 'GET /api/uploads',
  summary: 'List uploads',
  description: 'Newest first.',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: UploadQuery,
  returns: { 200: ListOf(UploadView) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, assets }) => list('Uploads', await assets.uploads.list(query)),
})

export const getUpload = operation({
  route: 'GET /api/uploads/{uploadId}',
  summary: 'Get an upload',
  access: 'media:read',
  workspace: owner('uploads', 'uploadId'),
  path: UploadPath,
  returns: { 200: Envelope(UploadView) },
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, assets }) => ok('Upload', await assets.uploads.get(path.uploadId)),
})

export const deleteUpload = operation({
  route: 'DELETE /api/uploads/{uploadId}',
  summary: 'Cancel an upload',
  description: 'Deletes the received bytes. An asset that was added from the upload is kept.',
  access: 'media:write',
  workspace: owner('uploads', 'uploadId'),
  path: UploadPath,
  returns: { 200: Done },
  errors: [StorageUnavailable],
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, assets }) => {
    await assets.uploads.remove(path.uploadId)
    return done('Upload cancelled')
  },
})

export const completeUpload = operation({
  route: 'POST /api/uploads/{uploadId}/complete',
  summary: 'Complete an upload',
  access: 'media:write',
  workspace: owner('uploads', 'uploadId'),
  path: UploadPath,
  returns: { 201: Envelope(AssetDetails) },
  errors: [Conflict, PlanLimit, StorageUnavailable, ...CONTENT],
  example: { path: { uploadId: UPLOAD } },
  handle: async ({ path, caller, assets }) =>
    created('Asset added', await assets.reader.get(await assets.uploads.complete(path.uploadId, caller.userId))),
})

export const validateMediaUrl = operation({
  route: 'POST /api/uploads/validate-url',
  summary: 'Validate a media URL',
  description:
    'Fetches the URL and checks the file against the rules of the platforms. Addresses that are not public are refused, including those reached by DNS or a redirect. If the check fails, the reply has the reason. The duration of videos is not checked.',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  body: MediaUrl,
  returns: { 200: Envelope(MediaUrlView) },
  example: { body: { workspaceId: WORKSPACE, url: 'http://127.0.0.1/photo.jpg', platforms: ['instagram', 'x'] } },
  handle: async ({ body, assets }) => ok('URL checked', await assets.urlCheck.check(body.url, body.platforms)),
})
