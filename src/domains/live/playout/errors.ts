import { defineError } from '../../../core/error.ts'

export const UnfitFile = defineError({
  code: 'unfit_file',
  status: 409,
  message: 'Live platforms do not show this file right as it is.',
  cause:
    'It is not what all live platforms take: H.264 (progressive, 8 bits, 4:2:0) and AAC-LC (mono or stereo) in an MP4 file, a keyframe every 4 seconds, not rotated or trimmed by what only a player follows.',
  fix: 'Broadcast it with `transcode: auto`, or make a rendition of the asset with the preset `live` and broadcast that.',
})
