import { encodeAmf0 } from '../rtmp/amf0.ts'
import { avcVideoSize } from '../rtmp/sps.ts'
import type { Movie } from './movie.ts'

// RTMP message bodies for H.264 and AAC. They are FLV tag bodies (FLV specification, E.4).

const KEYFRAME = 0x17
const INTER_FRAME = 0x27
/** SoundFormat AAC. The other bits of the byte are constant for AAC (E.4.2.1). */
const AAC = 0xaf
export const VIDEO_HEADER_BYTES = 5
export const AUDIO_HEADER_BYTES = 2

/** The sequence header of H.264. */
export function videoSequenceHeader(avcC: Buffer): Buffer {
  return Buffer.concat([Buffer.of(KEYFRAME, 0, 0, 0, 0), avcC])
}

/** The sequence header of AAC. */
export function audioSequenceHeader(audioSpecificConfig: Buffer): Buffer {
  return Buffer.concat([Buffer.of(AAC, 0), audioSpecificConfig])
}

/** Writes the tag header of a video frame. @param composition composition time offset, milliseconds */
export function writeVideoTagHeader(payload: Buffer, isKeyframe: boolean, composition: number): void {
  payload[0] = isKeyframe ? KEYFRAME : INTER_FRAME
  payload[1] = 1
  // A signed 24-bit number.
  payload.writeIntBE(Math.max(-0x80_0000, Math.min(composition, 0x7f_ffff)), 2, 3)
}

/** Writes the tag header of an audio frame. */
export function writeAudioTagHeader(payload: Buffer): void {
  payload[0] = AAC
  payload[1] = 1
}

/** An onMetaData message like that of an encoder. */
export function metadata({ audio, video }: Movie): Buffer {
  const size = video && (avcVideoSize(video.config) ?? video)
  const seconds = video ? video.end / video.timescale : 0
  const values: Record<string, number | boolean> = {
    ...(size && { width: size.width, height: size.height, videocodecid: 7 }),
    ...(video && seconds > 0 && { framerate: Math.round((video.samples.length / seconds) * 100) / 100 }),
    ...(audio && { audiocodecid: 10, ...audioFormatOf(audio.config) }),
  }
  return encodeAmf0('@setDataFrame', 'onMetaData', values)
}

const SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
]

/** Sample rate and channels of an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1), named as in onMetaData. */
export function audioFormatOf(config: Buffer): { audiosamplerate: number; audiochannels: number } {
  const bits = config.length < 2 ? 0 : config.readUInt16BE()
  return { audiosamplerate: SAMPLE_RATES[(bits >> 7) & 0xf] ?? 48_000, audiochannels: (bits >> 3) & 0xf }
}

/** Audio object type of an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1); 2 is AAC-LC. */
export function objectTypeOf(config: Buffer): number {
  const bits = config.length < 2 ? 0 : config.readUInt16BE()
  const type = bits >> 11
  return type === 31 ? 32 + ((bits >> 5) & 0x3f) : type
}

/** A silent AAC-LC frame for mono and stereo. */
const SILENCE: Readonly<Record<number, string | undefined>> = { 1: '00c800802380', 2: '210049900219002380' }

/** The message body of a silent AAC frame; undefined for more than two channels. */
export function silentFrame(config: Buffer): Buffer | undefined {
  const frame = SILENCE[audioFormatOf(config).audiochannels]
  return frame === undefined ? undefined : Buffer.concat([Buffer.of(AAC, 1), Buffer.from(frame, 'hex')])
}
