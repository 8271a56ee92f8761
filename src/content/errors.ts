import { defineError } from '../core/error.ts'

export const UnsupportedFile = defineError({
  code: 'unsupported_file',
  status: 415,
  message: 'Files of this type are not accepted.',
  cause: 'The content is not an image, video, audio file or PDF, or it does not match the name or declared type.',
  fix: 'Send a JPEG, PNG, GIF, WebP, HEIC, AVIF or SVG image, an MP4, MOV, WebM or MKV video, an audio file or a PDF.',
})
export const FfmpegMissing = defineError({
  code: 'ffmpeg_missing',
  status: 503,
  message:
    'This server cannot process video and audio, because it has no ffmpeg. Its operator has to install it (Debian: apt-get install ffmpeg) or set FFMPEG_PATH.',
  cause: 'The machine has no ffmpeg, and Debian’s packages could not be reached when Crier started.',
  fix: 'Install ffmpeg (Debian: `apt-get install ffmpeg`) or set FFMPEG_PATH, and start Crier again. Images and PDF do not need it.',
})
export const UnsafeFile = defineError({
  code: 'unsafe_file',
  status: 415,
  message: 'The file contains hidden or active content. Save it again with a standard program.',
  cause: 'The file is valid as two types at once, or contains scripts or external links.',
  fix: 'Save the file again with a standard program and upload the result.',
})
export const DamagedFile = defineError({
  code: 'damaged_file',
  status: 415,
  message: 'The file is damaged or incomplete. Send the original file again.',
  cause: 'A required part of the file is missing, usually because a copy was interrupted.',
  fix: 'Send the original file again.',
})
export const EmptyFile = defineError({
  code: 'empty_file',
  status: 400,
  message: 'The file is empty. Send it with its content.',
  cause: 'The file was sent without content.',
  fix: 'Select the file again and send it with its content.',
})
export const ImageTooLarge = defineError({
  code: 'image_too_large',
  status: 413,
  message: 'The image has too many pixels. Reduce its size.',
  cause: 'An image can have at most 100 million pixels, and 16,384 on a side. The header of this one declares more.',
  fix: 'Reduce the size of the image and send it again.',
})
