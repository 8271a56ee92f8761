import { defineError } from '../../../core/error.ts'

export const StorageLimit = defineError({
  code: 'storage_limit_reached',
  status: 413,
  message:
    'The file exceeds the storage limit of the plan. Delete files, cancel open uploads, or upgrade the plan at /billing.',
  cause:
    'The files of all workspaces of the owner, together with open uploads, would exceed the storage limit of the plan.',
  fix: 'Delete files (files in the bin do not count), cancel open uploads, or upgrade the plan. `details` has the limit and the current usage.',
})
export const RenditionNotPossible = defineError({
  code: 'rendition_not_possible',
  status: 400,
  message: 'The rendition cannot be made from this file.',
  cause:
    'The settings contradict each other or do not fit the file: for example, the audio of a silent video, or a trim after its end.',
  fix: 'Change the settings as the message says. GET the asset to see the type, size and duration of its file.',
})
export const UploadMismatch = defineError({
  code: 'upload_mismatch',
  status: 409,
  message: 'The content does not match the upload.',
  cause: 'The size, type or checksum differs from the one given when the upload was created.',
  fix: 'Create a new upload for this file and send it again.',
})
export const BadSignature = defineError({
  code: 'bad_signature',
  status: 403,
  message: 'The signed URL is invalid or has expired.',
  cause:
    'The signed URL was changed or has expired, or the member who created the upload is no longer allowed to add media.',
  fix: 'Create a new upload and use its URL unchanged.',
})
