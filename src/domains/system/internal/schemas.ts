import { named, Timestamp, Type, type Static } from '../../../core/schema.ts'

/** Largest file of a worker, in bytes. */
export const MAX_UPLOAD_BYTES = 2_000_000_000

export const StoredUpload = named(
  'StoredUpload',
  Type.Object({
    path: Type.String({ description: 'Key of the file in the storage: `<owner>/<id>`' }),
    name: Type.String(),
    size: Type.Integer({ description: 'Bytes' }),
    sha256: Type.String({ description: 'Hexadecimal' }),
    createdAt: Timestamp,
    expiresAt: Timestamp,
  }),
)

export type StoredUploadData = Static<typeof StoredUpload>
