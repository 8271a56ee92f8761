import { States } from '../../../core/schema.ts'

export const WarningCode = States('StreamWarningCode', 'A problem of an ingest', {
  video_missing: 'No video arrives, or it has stopped',
  audio_missing: 'No audio arrives, or it has stopped',
  video_codec: 'The platform does not accept this video codec',
  audio_codec: 'The platform does not accept this audio codec',
  pixel_format: 'The chroma format or bit depth is not 8-bit 4:2:0, which platforms require',
  audio_channels: 'The audio has more than two channels, which platforms do not accept',
  keyframe_missing: 'The video has no keyframe, so it cannot be decoded',
  keyframe_interval: 'Keyframes are too far apart: set the keyframe interval of the encoder to 2 seconds',
  frame_rate_varies: 'The frame rate varies: set a constant frame rate in the encoder',
  bitrate: 'The bitrate is higher than the platform accepts',
  clock_drift: 'Timestamps run faster or slower than real time',
  audio_offset: 'The timestamps of audio and video are more than a second apart',
  timestamps_forward: 'Timestamps have jumped forward',
  timestamps_back: 'Timestamps have jumped back',
  resolution_changed: 'The resolution changed while live. Platforms may refuse that',
  key_contested: 'A second encoder tries to publish with the same key',
})
