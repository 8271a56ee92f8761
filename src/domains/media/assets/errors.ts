import { defineError } from '../../../core/error.ts'

export const StorageLimit = defineError({
  code: 'storage_limit_reached',
  status: 413,
  message: 'The plan has no room for this file.',
  cause: 'The media libraries of all workspaces of the owner, with the uploads under way, would exceed the plan.',
  fix: 'Delete files (what is in the bin does not count), drop uploads under way, or upgrade the plan. `details` says the limit and what is used.',
})
export const RenditionNotPossible = defineError({
  code: 'rendition_not_possible',
  status: 400,
  message: 'This cannot be made of the file.',
  cause:
    'The settings contradict each other, or the file: sound of a silent video, a trim behind its end, for example.',
  fix: 'The message says what is wrong. GET the asset to see what its file is.',
})
export const UploadMismatch = defineError({
  code: 'upload_mismatch',
  status: 409,
  message: 'What came is not the file that the upload was opened for.',
  cause: 'Size, type or checksum differ from those given when the upload was opened.',
  fix: 'Open a new upload for this file and send it again.',
})
export const BadSignature = defineError({
  code: 'bad_signature',
  status: 403,
  message: 'The URL is not valid, or not any more.',
  cause: 'The signed URL was changed, has expired, or the member who opened the upload may not add media any more.',
  fix: 'Open a new upload and use its URL as it is.',
})
