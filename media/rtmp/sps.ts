import { BitReader, withoutEmulationPrevention } from './bit-reader.ts'

/** Size of a video, in luma samples after cropping. */
export interface VideoSize {
  readonly width: number
  readonly height: number
}

/** Video format from the sequence parameter set (SPS) of H.264. */
export interface AvcFormat extends VideoSize {
  /** `chroma_format_idc`: 0 is 4:0:0 (monochrome), 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4. */
  readonly chromaFormat: number
  /** Bits of a luma sample. */
  readonly bitDepth: number
  /** Pictures may be coded as fields. */
  readonly interlaced: boolean
  /** Sample aspect ratio: width over height of a pixel. Null when not specified. */
  readonly pixelAspect: number | null
  /** `transfer_characteristics` (ITU-T H.273, table 3); null when not specified. */
  readonly transfer: number | null
}

/** Reads the size of the video from an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3); null when it has no SPS. */
export function avcVideoSize(record: Buffer): VideoSize | null {
  const picture = avcFormat(record)
  return picture && { width: picture.width, height: picture.height }
}

/** Reads the first SPS of an AVCDecoderConfigurationRecord; null when there is none or it is damaged. */
export function avcFormat(record: Buffer): AvcFormat | null {
  return sizeOrNull(() => {
    const count = record.readUInt8(5) & 0x1f
    if (count === 0) return null
    const length = record.readUInt16BE(6)
    return readAvcSps(readerOf(record.subarray(8, 8 + Math.min(length, 1_024))))
  })
}

/** Reads the size of the video from an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, 8.3.3); null when it has no SPS. */
export function hevcVideoSize(record: Buffer): VideoSize | null {
  return sizeOrNull(() => {
    let offset = 23
    for (let arrays = record.readUInt8(22); arrays > 0; arrays--) {
      const type = record.readUInt8(offset) & 0x3f
      const units = record.readUInt16BE(offset + 1)
      offset += 3
      for (let unit = 0; unit < units; unit++) {
        const length = record.readUInt16BE(offset)
        offset += 2
        if (type === 33) return readHevcSps(readerOf(record.subarray(offset, offset + Math.min(length, 1_024))))
        offset += length
      }
    }
    return null
  })
}

function readerOf(nalUnit: Buffer): BitReader {
  return new BitReader(withoutEmulationPrevention(nalUnit))
}

/** Returns null instead of throwing when the bitstream is damaged, because the size is only informative. */
export function sizeOrNull<T extends VideoSize>(read: () => T | null): T | null {
  try {
    const size = read()
    return size !== null && size.width > 0 && size.height > 0 ? size : null
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const PROFILES_WITH_CHROMA = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])

/** Reads seq_parameter_set_data (H.264, section 7.3.2.1.1). */
function readAvcSps(reader: BitReader): AvcFormat {
  reader.skip(8)
  const profile = reader.bits(8)
  reader.skip(16)
  reader.unsigned()
  let chroma = 1
  let bitDepth = 8
  if (PROFILES_WITH_CHROMA.has(profile)) {
    chroma = reader.unsigned()
    if (chroma === 3) reader.skip(1)
    bitDepth = 8 + reader.unsigned()
    reader.unsigned()
    reader.skip(1)
    if (reader.flag()) skipScalingLists(reader, chroma === 3 ? 12 : 8)
  }
  reader.unsigned()
  const orderType = reader.unsigned()
  if (orderType === 0) reader.unsigned()
  else if (orderType === 1) {
    reader.skip(1)
    reader.signed()
    reader.signed()
    const cycle = reader.unsigned()
    for (let index = 0; index < cycle; index++) reader.signed()
  }
  reader.unsigned()
  reader.skip(1)
  const widthInMacroblocks = reader.unsigned() + 1
  const heightInMapUnits = reader.unsigned() + 1
  const framesOnly = reader.flag()
  if (!framesOnly) reader.skip(1)
  reader.skip(1)
  const crop = reader.flag() ? [0, 0, 0, 0].map(() => reader.unsigned()) : [0, 0, 0, 0]
  const [left = 0, right = 0, top = 0, bottom = 0] = crop
  const unitX = chroma === 1 || chroma === 2 ? 2 : 1
  const unitY = (chroma === 1 ? 2 : 1) * (framesOnly ? 1 : 2)
  return {
    width: widthInMacroblocks * 16 - (left + right) * unitX,
    height: heightInMapUnits * 16 * (framesOnly ? 1 : 2) - (top + bottom) * unitY,
    chromaFormat: chroma,
    bitDepth,
    interlaced: !framesOnly,
    ...readAvcVui(reader),
  }
}

/** Sample aspect ratios by `aspect_ratio_idc` (H.264, table E-1). 0 is unspecified. */
const PIXEL_ASPECTS = [
  [0, 0],
  [1, 1],
  [12, 11],
  [10, 11],
  [16, 11],
  [40, 33],
  [24, 11],
  [20, 11],
  [32, 11],
  [80, 33],
  [18, 11],
  [15, 11],
  [64, 33],
  [160, 99],
  [4, 3],
  [3, 2],
  [2, 1],
] as const
const EXTENDED_SAR = 255

/** Reads vui_parameters (H.264, section E.1.1) up to transfer_characteristics. */
function readAvcVui(reader: BitReader): Pick<AvcFormat, 'pixelAspect' | 'transfer'> {
  let pixelAspect: number | null = null
  try {
    if (!reader.flag()) return { pixelAspect, transfer: null }
    if (reader.flag()) {
      const idc = reader.bits(8)
      const [width, height] = idc === EXTENDED_SAR ? [reader.bits(16), reader.bits(16)] : (PIXEL_ASPECTS[idc] ?? [0, 0])
      if (width > 0 && height > 0) pixelAspect = width / height
    }
    if (reader.flag()) reader.skip(1)
    // video_signal_type: format and range, then colour_primaries, transfer_characteristics and matrix_coefficients.
    if (!reader.flag()) return { pixelAspect, transfer: null }
    reader.skip(4)
    if (!reader.flag()) return { pixelAspect, transfer: null }
    reader.skip(8)
    return { pixelAspect, transfer: reader.bits(8) }
  } catch (error) {
    // The size was read already, so a truncated VUI is not an error.
    if (error instanceof RangeError) return { pixelAspect, transfer: null }
    throw error
  }
}

function skipScalingLists(reader: BitReader, lists: number): void {
  for (let list = 0; list < lists; list++) {
    if (!reader.flag()) continue
    let last = 8
    let next = 8
    for (let index = 0; index < (list < 6 ? 16 : 64); index++) {
      if (next !== 0) next = (last + reader.signed() + 256) % 256
      if (next !== 0) last = next
    }
  }
}

/** Reads seq_parameter_set_rbsp (H.265, section 7.3.2.2.1) up to the conformance window. */
function readHevcSps(reader: BitReader): VideoSize {
  reader.skip(16 + 4)
  const subLayers = reader.bits(3)
  reader.skip(1)
  // profile_tier_level: 88 bits of profile, 8 of level, then profile and level of each sub-layer.
  reader.skip(96)
  const present = Array.from({ length: subLayers }, () => ({ profile: reader.flag(), level: reader.flag() }))
  if (subLayers > 0) reader.skip(2 * (8 - subLayers))
  for (const layer of present) reader.skip((layer.profile ? 88 : 0) + (layer.level ? 8 : 0))
  reader.unsigned()
  const chroma = reader.unsigned()
  if (chroma === 3) reader.skip(1)
  const width = reader.unsigned()
  const height = reader.unsigned()
  const crop = reader.flag() ? [0, 0, 0, 0].map(() => reader.unsigned()) : [0, 0, 0, 0]
  const [left = 0, right = 0, top = 0, bottom = 0] = crop
  const unitX = chroma === 1 || chroma === 2 ? 2 : 1
  const unitY = chroma === 1 ? 2 : 1
  return { width: width - (left + right) * unitX, height: height - (top + bottom) * unitY }
}
