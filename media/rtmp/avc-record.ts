/** The parameter sets of an AVCDecoderConfigurationRecord, each behind its length in four bytes: in front of a keyframe they say of what form it is. */
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
 * The parameter sets of an AVCDecoderConfigurationRecord as they stand in front of a keyframe; undefined when the record
 * is damaged, or when the lengths of NAL units are not four bytes long as these are.
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
