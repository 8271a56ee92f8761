import { defineError } from '../../core/error.ts'

export const UnfitFile = defineError({
  code: 'unfit_file',
  status: 409,
  message: 'No live platform would take this file.',
  cause: 'It is not H.264 and AAC in an MP4 file with a keyframe every 4 seconds, which is what live platforms take.',
  fix: 'Make a rendition of the asset with a video preset and broadcast that; the message says what is wrong with the file.',
})
