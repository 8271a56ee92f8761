import { BitReader } from './bit-reader.ts'
import { sizeOrNull, type VideoSize } from './sps.ts'

const SYNC_CODE = 0x49_83_42
const SRGB = 7

/** Reads the size of the video from the uncompressed header of a keyframe (VP9 Bitstream Specification, 6.2); else null. */
export function vp9VideoSize(frame: Buffer): VideoSize | null {
  return sizeOrNull(() => {
    const reader = new BitReader(frame.subarray(0, 32))
    if (reader.bits(2) !== 2) return null
    const profile = reader.bits(1) + reader.bits(1) * 2
    if (profile === 3) reader.skip(1)
    const [showsExisting, isInter] = [reader.flag(), reader.flag()]
    reader.skip(2)
    if (showsExisting || isInter || reader.bits(24) !== SYNC_CODE) return null
    if (profile >= 2) reader.skip(1)
    const isRgb = reader.bits(3) === SRGB
    if (!isRgb) reader.skip(1)
    // subsampling_x, subsampling_y and reserved_zero, only in these profiles.
    if (profile === 1 || profile === 3) reader.skip(isRgb ? 1 : 3)
    return { width: reader.bits(16) + 1, height: reader.bits(16) + 1 }
  })
}
