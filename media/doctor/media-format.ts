import { audioFormatOf } from '../playout/flv-bodies.ts'
import { readTagBody } from '../rtmp/tag-body.ts'
import { avcFormat } from '../rtmp/sps.ts'

/** Chroma format and bit depth of video. */
export interface PixelFormat {
  /** chroma_format_idc: 0 is 4:0:0 (monochrome), 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4. */
  readonly chroma: number
  /** Bits per luma sample. */
  readonly bitDepth: number
}

/** channelConfiguration of 7.1 in an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.3.5). Lower ones are channel counts. */
const SEVEN_POINT_ONE = 7
/** Offset of the channel count in OpusHead (RFC 7845, 5.1). */
const OPUS_CHANNELS = 9
/** Offsets in an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, 8.3.3). */
const HEVC = { chroma: 16, bitDepth: 17 }
/** Offset of the flags in an AV1CodecConfigurationRecord (AV1-ISOBMFF, 2.3.3), and their bits. */
const AV1 = { flags: 2, highBitDepth: 0x40, twelveBits: 0x20, monochrome: 0x10, halfWidth: 0x08, halfHeight: 0x04 }

/** Reads the pixel format from a video sequence header; null when it has none or is damaged. */
export function headerPixelFormat(payload: Buffer, codec: string | null): PixelFormat | null {
  const record = readTagBody('video', payload).data
  if (codec === 'h264') {
    const picture = avcFormat(record)
    return picture && { chroma: picture.chromaFormat, bitDepth: picture.bitDepth }
  }
  if (codec === 'hevc' && record.length > HEVC.bitDepth) {
    return { chroma: record[HEVC.chroma]! & 0x03, bitDepth: (record[HEVC.bitDepth]! & 0x07) + 8 }
  }
  return codec === 'av1' && record.length > AV1.flags ? av1PixelFormat(record[AV1.flags]!) : null
}

function av1PixelFormat(flags: number): PixelFormat {
  const has = (bit: number) => (flags & bit) !== 0
  const bitDepth = !has(AV1.highBitDepth) ? 8 : has(AV1.twelveBits) ? 12 : 10
  if (has(AV1.monochrome)) return { chroma: 0, bitDepth }
  return { chroma: has(AV1.halfHeight) ? 1 : has(AV1.halfWidth) ? 2 : 3, bitDepth }
}

/** Reads the number of channels from an audio sequence header; null when it has none. */
export function headerChannels(payload: Buffer, codec: string | null): number | null {
  const { data } = readTagBody('audio', payload)
  if (codec === 'opus') return data[OPUS_CHANNELS] ?? null
  if (codec !== 'aac') return null
  const { audiochannels: configuration } = audioFormatOf(data)
  if (configuration === 0 || configuration > SEVEN_POINT_ONE) return null
  return configuration === SEVEN_POINT_ONE ? 8 : configuration
}
