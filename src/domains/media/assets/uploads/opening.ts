import { FfmpegMissing, UnsupportedFile } from '../../../../content/errors.ts'
import { StorageLimit } from '../errors.ts'
import { NotFound, PlanLimit } from '../../../../core/errors.ts'
import { from } from '../../../../core/operation.ts'
import { Envelope } from '../../../../core/schema.ts'
import { StorageUnavailable } from '../../../../storage/errors.ts'
import { NewUpload, SignedUploadView } from './schemas.ts'

/** The common part of the operations that create an upload. They differ in where the client may send the bytes. */
export const OPENING = {
  access: 'media:write',
  workspace: from.body('workspaceId'),
  body: NewUpload,
  returns: { 201: Envelope(SignedUploadView) },
  errors: [NotFound, PlanLimit, UnsupportedFile, StorageLimit, StorageUnavailable, FfmpegMissing],
  example: {
    body: {
      workspaceId: '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01',
      name: 'launch.mp4',
      size: 200_000_000,
      type: 'video/mp4',
    },
  },
} as const
