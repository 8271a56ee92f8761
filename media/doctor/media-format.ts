import { soundOf } from '../playout/payloads.ts'
import { codedBody } from '../rtmp/coded-body.ts'
import { avcPicture } from '../rtmp/sps.ts'

/** How a codec stores colour. */
export interface PixelFormat {
  /** chroma_format_idc: 0 is 4:0:0 (grey), 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4. */
  readonly chroma: number
  /** Bits of each luma sample. */
  readonly bitDepth: number
}

/** channelConfiguration of an AudioSpecificConfig that stands for another number of channels (ISO/IEC 14496-3, 1.6.3.5). */
const SEVEN_POINT_ONE = 7
/** Where OpusHead says how many channels there are (RFC 7845, 5.1). */
const OPUS_CHANNELS = 9
/** Where an HEVCDecoderConfigurationRecord says how colour is stored (ISO/IEC 14496-15, 8.3.3). */
const HEVC = { chroma: 16, bitDepth: 17 }
/** Where an AV1CodecConfigurationRecord says it (AV1-ISOBMFF, 2.3.3), and the bits of that byte. */
const AV1 = { flags: 2, highBitDepth: 0x40, twelveBits: 0x20, monochrome: 0x10, halfWidth: 0x08, halfHeight: 0x04 }

/** Pixel format from a video header message; null for codecs whose header does not say, or when it is damaged. */
export function headerPixelFormat(payload: Buffer, codec: string | null): PixelFormat | null {
  const record = codedBody('video', payload).data
  if (codec === 'h264') {
    const picture = avcPicture(record)
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

/** Number of channels from an audio header message; null when it does not say. */
export function headerChannels(payload: Buffer, codec: string | null): number | null {
  const { data } = codedBody('audio', payload)
  if (codec === 'opus') return data[OPUS_CHANNELS] ?? null
  if (codec !== 'aac') return null
  const { audiochannels: configuration } = soundOf(data)
  if (configuration === 0 || configuration > SEVEN_POINT_ONE) return null
  return configuration === SEVEN_POINT_ONE ? 8 : configuration
}
