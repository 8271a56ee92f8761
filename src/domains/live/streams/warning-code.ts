import { States } from '../../../core/schema.ts'

export const WarningCode = States('StreamWarningCode', 'What is wrong with what a stream takes in', {
  video_missing: 'No video comes in, or it has stopped',
  audio_missing: 'No audio comes in, or it has stopped',
  video_codec: 'The platform does not take this video codec',
  audio_codec: 'The platform does not take this audio codec',
  pixel_format: 'The chroma format or bit depth is not the 8-bit 4:2:0 that platforms take',
  audio_channels: 'The audio has more channels than the two that platforms take',
  keyframe_missing: 'The video has no keyframe, so nothing can start to decode it',
  keyframe_interval: 'Keyframes are too far apart: set the keyframe interval of the encoder to 2 seconds',
  frame_rate_varies: 'The frame rate varies: set a constant one in the encoder',
  bitrate: 'The bitrate is above what the platform takes',
  clock_drift: 'Timestamps run faster or slower than time does',
  audio_offset: 'The timestamps of audio and video are more than a second apart',
  timestamps_forward: 'Timestamps have jumped forward',
  timestamps_back: 'Timestamps have jumped back',
  resolution_changed: 'The size of the picture has changed on the air, which platforms may refuse',
  key_contested: 'A second encoder tries to publish with the same key',
})
