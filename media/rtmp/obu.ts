import { BitReader } from './bit-reader.ts'
import { sizeOrNull, type VideoSize } from './sps.ts'

// Parses OBUs, the open bitstream units of AV1 (AV1 Bitstream & Decoding Process Specification, 5.3 to 5.5).

const SEQUENCE_HEADER = 1
const FRAME_HEADER = 3
const FRAME = 6
/** First bits of a frame header (5.9.2): show_existing_frame 0, frame_type KEY_FRAME, show_frame 1. */
const SHOWN_KEYFRAME = { mask: 0b1111_0000, value: 0b0001_0000 }
const TEMPORAL_DELIMITER = Buffer.of(0x12, 0x00)
/** Bytes of an AV1CodecConfigurationRecord (AV1-ISOBMFF, 2.3.3) before its OBUs. */
const RECORD_HEADER_BYTES = 4
/** Number of OBUs to search. The sequence header is the first or second one. */
const MAX_UNITS = 8

/** Reads the size of the video from an AV1CodecConfigurationRecord; null when it has no sequence header, which is optional. */
export function av1VideoSize(record: Buffer): VideoSize | null {
  return temporalUnitVideoSize(record.subarray(RECORD_HEADER_BYTES))
}

/** Reads the size of the video from the sequence header of a temporal unit; null when there is none. */
export function temporalUnitVideoSize(units: Buffer): VideoSize | null {
  return sizeOrNull(() => {
    for (const { content, type } of unitsOf(units)) {
      if (type === SEQUENCE_HEADER) return readSequenceHeader(new BitReader(content))
    }
    return null
  })
}

/** Whether a decoder can start with this temporal unit: it has a sequence header, followed by a shown keyframe. */
export function isAv1RandomAccess(units: Buffer): boolean {
  try {
    let hasSequenceHeader = false
    for (const { content, type } of unitsOf(units)) {
      if (type === SEQUENCE_HEADER) hasSequenceHeader = true
      if (type !== FRAME && type !== FRAME_HEADER) continue
      return hasSequenceHeader && (content.readUInt8() & SHOWN_KEYFRAME.mask) === SHOWN_KEYFRAME.value
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return false
}

interface Obu {
  readonly type: number
  readonly content: Buffer
}

/** The first OBUs of a temporal unit. Throws RangeError when one is damaged. */
function* unitsOf(units: Buffer): Generator<Obu> {
  let at = 0
  for (let count = 0; at < units.length && count < MAX_UNITS; count++) {
    const header = units.readUInt8(at)
    at += (header & 4) === 0 ? 1 : 2
    let size = units.length - at
    if ((header & 2) !== 0) ({ size, at } = leb128(units, at))
    yield { type: (header >> 3) & 0x0f, content: units.subarray(at, at + size) }
    at += size
  }
}

/** Removes the temporal delimiter, which must not be in an MP4 sample (AV1-ISOBMFF, 2.4). */
export function withoutDelimiter(temporalUnit: Buffer): Buffer {
  return temporalUnit.subarray(0, 2).equals(TEMPORAL_DELIMITER) ? temporalUnit.subarray(2) : temporalUnit
}

function leb128(bytes: Buffer, at: number): { size: number; at: number } {
  let size = 0
  for (let index = 0; index < 8; index++) {
    const byte = bytes.readUInt8(at + index)
    size += (byte & 0x7f) * 2 ** (index * 7)
    if (byte < 0x80) return { size, at: at + index + 1 }
  }
  throw new RangeError('an OBU is damaged')
}

/** Reads sequence_header_obu (5.5.1) up to the size of the video. */
function readSequenceHeader(reader: BitReader): VideoSize {
  reader.skip(3 + 1)
  if (reader.flag()) reader.skip(5)
  else skipOperatingPoints(reader)
  const widthBits = reader.bits(4) + 1
  const heightBits = reader.bits(4) + 1
  return { width: reader.bits(widthBits) + 1, height: reader.bits(heightBits) + 1 }
}

function skipOperatingPoints(reader: BitReader): void {
  let delayBits: number | undefined
  if (reader.flag()) {
    reader.skip(64)
    if (reader.flag()) reader.unsigned()
    if (reader.flag()) {
      delayBits = reader.bits(5) + 1
      reader.skip(32 + 5 + 5)
    }
  }
  const hasInitialDisplayDelay = reader.flag()
  for (let left = reader.bits(5) + 1; left > 0; left--) {
    reader.skip(12)
    const level = reader.bits(5)
    if (level > 7) reader.skip(1)
    if (delayBits !== undefined && reader.flag()) reader.skip(delayBits * 2 + 1)
    if (hasInitialDisplayDelay && reader.flag()) reader.skip(4)
  }
}
