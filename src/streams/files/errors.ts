import { defineError } from '../../core/error.ts'

export const UnfitFile = defineError({
  code: 'unfit_file',
  status: 409,
  message: 'No live platform would take this file.',
  cause: 'It is not H.264 and AAC in an MP4 file with a keyframe every 4 seconds, which is what live platforms take.',
  fix: 'Broadcast it with `transcode: auto`, or make a rendition of the asset with the preset `live` and broadcast that.',
})
