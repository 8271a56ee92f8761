import { isAv1RandomAccess } from './obu.ts'
import { vp9VideoSize } from './vp9.ts'

/** Bytes of the length before each NAL unit. Configuration records allow fewer, but RTMP encoders write four. */
const LENGTH_BYTES = 4
/** nal_unit_type of H.264 (table 7-1): 1 to 5 are slices, and 5 is a slice of an IDR picture. */
const AVC_IDR = 5
/** nal_unit_type of HEVC (table 7-1): 0 to 31 are slices, and 16 to 23 are slices of IRAP pictures. */
const HEVC_IRAP = { first: 16, last: 23 }
const HEVC_FIRST_NON_SLICE = 32
/** Start code of a VP8 keyframe (RFC 6386, 9.1). */
const VP8_START_CODE = 0x9d_01_2a

/**
 * Whether a decoder can start with this coded picture, judged by the bitstream. Needed for senders that do not set the
 * keyframe flag.
 *
 * @param data the coded picture without the tag header of its message
 * @returns false for unknown codecs and damaged pictures
 */
export function isRandomAccessPoint(codec: string | null, data: Buffer): boolean {
  switch (codec) {
    case 'h264':
      return firstSliceType(data, avcSliceType) === AVC_IDR
    case 'hevc': {
      const type = firstSliceType(data, hevcSliceType) ?? -1
      return type >= HEVC_IRAP.first && type <= HEVC_IRAP.last
    }
    case 'av1':
      return isAv1RandomAccess(data)
    case 'vp9':
      return vp9VideoSize(data) !== null
    case 'vp8':
      return data.length >= 6 && (data[0]! & 1) === 0 && data.readUIntBE(3, 3) === VP8_START_CODE
    default:
      return false
  }
}

/** NAL unit type of the first slice in a picture; null when there is none. */
function firstSliceType(data: Buffer, sliceType: (header: number) => number | null): number | null {
  let at = 0
  while (at + LENGTH_BYTES < data.length) {
    const length = data.readUInt32BE(at)
    const start = at + LENGTH_BYTES
    at = start + length
    if (length === 0 || at > data.length) return null
    const type = sliceType(data[start]!)
    if (type !== null) return type
  }
  return null
}

function avcSliceType(header: number): number | null {
  const type = header & 0x1f
  return type >= 1 && type <= AVC_IDR ? type : null
}

function hevcSliceType(header: number): number | null {
  const type = (header >> 1) & 0x3f
  return type < HEVC_FIRST_NON_SLICE ? type : null
}
