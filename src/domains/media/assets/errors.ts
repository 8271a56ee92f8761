import { defineError } from '../../../core/error.ts'

export const UnsupportedFile = defineError({
  code: 'unsupported_file',
  status: 415,
  message: 'Files of this type are not taken.',
  cause: 'What the file contains is no image, video, sound or PDF, or not what its name or declared type says.',
  fix: 'Send a JPEG, PNG, GIF, WebP, HEIC, AVIF or SVG image, an MP4, MOV, WebM or MKV video, a sound file or a PDF.',
})
export const UnsafeFile = defineError({
  code: 'unsafe_file',
  status: 415,
  message: 'The file holds something beside what it shows.',
  cause: 'The file is of two types at once, or has scripts or links to outside in it.',
  fix: 'Save the file anew with an ordinary program and send that.',
})
export const DamagedFile = defineError({
  code: 'damaged_file',
  status: 415,
  message: 'The file is damaged or ends too early.',
  cause: 'A part that files of this type must have is missing, mostly because a copy was cut off.',
  fix: 'Send the original file again.',
})
export const EmptyFile = defineError({
  code: 'empty_file',
  status: 400,
  message: 'The file is empty.',
  cause: 'No bytes came for the file.',
  fix: 'Choose the file again and send it with its content.',
})
export const ImageTooLarge = defineError({
  code: 'image_too_large',
  status: 413,
  message: 'The picture has too many pixels.',
  cause: 'A picture may have 100 million pixels and 16,384 on a side. Its header says that it has more.',
  fix: 'Make the picture smaller and send that.',
})
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
