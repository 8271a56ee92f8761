import { FileName, Tags } from '../schemas.ts'
import { MEDIA_PLATFORMS } from '../../../../platforms/media-rules.ts'
import { pageFields } from '../../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Type,
  type Static,
} from '../../../../core/schema.ts'

export const UploadState = States('UploadState', 'How far a signed upload is', {
  open: 'Takes bytes at its signed URL',
  received: 'All bytes are there and the file was accepted. Confirm it to make the asset',
  complete: 'Confirmed: the asset is `assetId`',
  failed: 'The file was refused, for the reason in `error`',
  expired: 'Was not completed before `expiresAt`. What came of it is discarded',
})
export type UploadState = Static<typeof UploadState>

/** Bytes of one file: what S3 takes in one piece. */
export const MOST_FILE_BYTES = 5 * 1024 ** 3

const Checksum = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the file, 64 hexadecimal digits' })

/** A piece that is this large is read before other requests notice. */
export const PIECE_BYTES = 16 * 1024 ** 2

export const NewUpload = Input({
  workspaceId: Id,
  name: FileName,
  size: Type.Integer({ minimum: 1, maximum: MOST_FILE_BYTES, description: 'Bytes of the whole file' }),
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
    url: Type.String({ description: 'Send the file there; nothing but this file is taken, and no credential needed' }),
    method: Type.Literal('PUT'),
    headers: Type.Record(Type.String(), Type.String(), { description: 'Headers that must be sent with it' }),
    pieceSize: Type.Integer({ description: 'Bytes of the pieces that are best sent, when it is resumable' }),
    resumable: Type.Boolean({ description: 'Whether pieces with Content-Range are taken' }),
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
    received: Type.Integer({ description: 'Bytes that are there: go on behind them' }),
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
    Type.Array(OneOf(MEDIA_PLATFORMS), {
      minItems: 1,
      maxItems: 30,
      uniqueItems: true,
      description: 'All when absent',
    }),
  ),
})

export const MediaUrlView = named(
  'MediaUrlCheck',
  Type.Object({
    url: Type.String({ description: 'After redirects' }),
    reachable: Type.Boolean(),
    httpStatus: Nullable(Type.Integer({ description: 'Of its server’s reply' })),
    error: Nullable(Type.String({ description: 'What is wrong with it, for people' })),
    code: Nullable(Type.String({ description: 'Code of the error, as in the table of errors' })),
    type: Nullable(Type.String({ description: 'Media type, by content' })),
    kind: Nullable(Type.String()),
    size: Nullable(Type.Integer({ description: 'Bytes; null when the server does not say' })),
    width: Nullable(Type.Integer()),
    height: Nullable(Type.Integer()),
    platforms: Type.Array(
      Type.Object({
        platform: Type.String(),
        accepted: Type.Boolean(),
        refusals: Type.Array(Type.String()),
        source: Type.String({ description: 'Where the limits are from' }),
        seen: Type.String({ description: 'When they were read' }),
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
