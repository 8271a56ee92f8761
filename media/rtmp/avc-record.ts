/**
 * SPS and PPS of an AVCDecoderConfigurationRecord, each prefixed with its length in four bytes, so that they can be put
 * in front of a keyframe.
 */
export function parameterSetsOf(record: Buffer): Buffer[] {
  const sets: Buffer[] = []
  let offset = 5
  for (const mask of [0x1f, 0xff]) {
    const count = record.readUInt8(offset) & mask
    offset += 1
    for (let index = 0; index < count; index += 1) {
      const length = record.readUInt16BE(offset)
      sets.push(Buffer.concat([Buffer.of(0, 0), record.subarray(offset, offset + 2 + length)]))
      offset += 2 + length
    }
  }
  return sets
}

/**
 * SPS and PPS of an AVCDecoderConfigurationRecord in the form in which they precede a keyframe. Undefined when the record
 * is damaged or its NAL unit lengths are not four bytes long.
 */
export function inBandParameterSets(record: Buffer): Buffer | undefined {
  if (record.length < 7 || (record[4]! & 3) !== 3) return undefined
  try {
    const sets = parameterSetsOf(record)
    return sets.length === 0 ? undefined : Buffer.concat(sets)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
