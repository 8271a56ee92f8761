import { defineError } from '../../../core/error.ts'

export const UnfitFile = defineError({
  code: 'unfit_file',
  status: 409,
  message: 'Not all live platforms can play this file.',
  cause:
    'All live platforms can play H.264 (progressive, 8 bits, 4:2:0) and AAC-LC (mono or stereo) in an MP4 file with a keyframe at least every 4 seconds, without rotation metadata and without an edit list. This file differs. The message says how.',
  fix: 'Broadcast it with `transcode: auto`, or make a rendition of the asset with the preset `live` and broadcast that.',
})
