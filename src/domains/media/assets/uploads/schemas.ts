import { FileName, Tags } from '../schemas.ts'
import { pageFields } from '../../../../core/page.ts'
import { Id, Input, named, Nullable, ResourceBase, States, Text, Type, type Static } from '../../../../core/schema.ts'

export const UploadState = States('UploadState', 'The state of a signed upload', {
  open: 'Waiting for bytes at the signed URL',
  received: 'All bytes were received and the file was accepted. Complete the upload to add the asset',
  complete: 'The asset was added. `assetId` is its id',
  failed: 'The file was refused. `error` has the reason',
  expired: 'The upload was not completed before `expiresAt`. Received bytes are deleted',
})
export type UploadState = Static<typeof UploadState>

/** Maximum size of a file: what S3 accepts in one request. */
export const MAX_FILE_BYTES = 5 * 1024 ** 3

const Checksum = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the file, as 64 hexadecimal digits',
})

/** Recommended size of a piece. Larger ones would delay other requests while they are read. */
export const PIECE_BYTES = 16 * 1024 ** 2

export const NewUpload = Input({
  workspaceId: Id,
  name: FileName,
  size: Type.Integer({ minimum: 1, maximum: MAX_FILE_BYTES, description: 'Bytes of the whole file' }),
  type: Text(3, 100, { pattern: '^[a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+$', description: 'a media type such as video/mp4' }),
  checksum: Type.Optional(Checksum),
  folderId: Type.Optional(Id),
  tags: Type.Optional(Tags),
})
export type NewUploadData = Static<typeof NewUpload>

export const SignedUploadView = named(
  'SignedUpload',
  Type.Object({
    uploadId: Id,
    url: Type.String({
      description: 'Send the file to this URL. It accepts only this file, and requires no credential',
    }),
    method: Type.Literal('PUT'),
    headers: Type.Record(Type.String(), Type.String(), { description: 'Headers that must be sent with the file' }),
    pieceSize: Type.Integer({ description: 'Recommended size of pieces in bytes, if the upload is resumable' }),
    resumable: Type.Boolean({ description: 'Whether the URL accepts pieces with Content-Range' }),
    expiresAt: ResourceBase.createdAt,
  }),
)

export const UploadView = named(
  'Upload',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String(),
    type: Type.String(),
    size: Type.Integer(),
    received: Type.Integer({ description: 'Bytes received so far. The next piece starts at this offset' }),
    state: UploadState,
    error: Nullable(Type.String()),
    assetId: Nullable(Id),
    expiresAt: ResourceBase.createdAt,
  }),
)
export type UploadData = Static<typeof UploadView>

export const MediaUrl = Input({
  workspaceId: Id,
  url: Text(1, 2_048, { description: 'http or https' }),
  platforms: Type.Optional(
    Type.Array(Type.String({ pattern: '^[a-z]{1,20}$' }), {
      minItems: 1,
      maxItems: 30,
      uniqueItems: true,
      description: 'Keys of platforms, from GET /api/platforms. Defaults to all',
    }),
  ),
})

export const MediaUrlView = named(
  'MediaUrlCheck',
  Type.Object({
    url: Type.String({ description: 'The URL after redirects' }),
    reachable: Type.Boolean(),
    httpStatus: Nullable(Type.Integer({ description: 'Status of the reply of the URL’s server' })),
    error: Nullable(Type.String({ description: 'What is wrong with the file or URL, as a message for users' })),
    code: Nullable(Type.String({ description: 'Code of the error, as in the error table' })),
    type: Nullable(Type.String({ description: 'Media type, detected from the content' })),
    kind: Nullable(Type.String()),
    size: Nullable(Type.Integer({ description: 'Bytes. Null if the server does not send the size' })),
    width: Nullable(Type.Integer()),
    height: Nullable(Type.Integer()),
    platforms: Type.Array(
      Type.Object({
        platform: Type.String(),
        accepted: Type.Boolean(),
        refusals: Type.Array(Type.String(), { description: 'Why the platform would refuse the file' }),
        adjustments: Type.Array(Type.String(), { description: 'What the platform would change in the file' }),
        source: Type.String({ description: 'The source of the limit that counts' }),
        seen: Nullable(
          Type.String({ description: 'When the source was last checked. Null for limits of this server’s operator' }),
        ),
      }),
    ),
  }),
)

export const UploadQuery = Input({ workspaceId: Id, ...pageFields })
export const UploadPath = Input({ uploadId: Id })
export const SignedQuery = Input({
  expires: Type.Integer({ minimum: 0, description: 'Part of the signed URL' }),
  signature: Text(20, 100, { description: 'Part of the signed URL' }),
})
