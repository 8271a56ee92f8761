import { box, full, text, u16, u32, zeros } from './box-writer.ts'

export interface AudioFormat {
  readonly channels: number
  /** Hertz. */
  readonly sampleRate: number
}

/**
 * A VisualSampleEntry (ISO/IEC 14496-12, 12.1.3).
 *
 * @param format type of the entry, such as `hvc1`
 * @param config the configuration box
 */
export function videoSampleEntry(format: string, size: { width: number; height: number }, config: Buffer): Buffer {
  const resolution = u32(0x48_0000)
  const layout = [
    zeros(6),
    u16(1),
    zeros(16),
    u16(size.width),
    u16(size.height),
    resolution,
    resolution,
    u32(0),
    u16(1),
  ]
  return box(format, ...layout, zeros(32), u16(24), u16(0xffff), config)
}

/** An AudioSampleEntry (ISO/IEC 14496-12, 12.2.3). @param config the configuration box */
export function audioSampleEntry(format: string, { channels, sampleRate }: AudioFormat, config: Buffer): Buffer {
  // Rates above 65,535 Hz do not fit in the field and are only in the configuration.
  const rate = u32((sampleRate > 0xffff ? 0 : sampleRate) * 0x1_0000)
  return box(format, zeros(6), u16(1), zeros(8), u16(channels), u16(16), zeros(4), rate, config)
}

/** An `esds` box: descriptors around an AudioSpecificConfig (ISO/IEC 14496-14, 5.6). */
export function esds(audioSpecificConfig: Buffer): Buffer {
  // Object type AAC, stream type audio; buffer size and bitrates unknown.
  const decoder = descriptor(4, Buffer.of(0x40, 0x15), zeros(11), descriptor(5, audioSpecificConfig))
  const stream = descriptor(3, u16(0), zeros(1), decoder, descriptor(6, Buffer.of(2)))
  return full('esds', 0, 0, stream)
}

/** A `dOps` box from an OpusHead (RFC 7845, 5.1): the same fields in big-endian order. */
export function dOps(opusHead: Buffer): Buffer {
  const head = opusHead.subarray(text('OpusHead').length)
  const gain = Buffer.alloc(2)
  gain.writeInt16BE(head.readInt16LE(8))
  // Mapping families other than 0 have a channel mapping table.
  const mapping = head.subarray(10, head[10] === 0 ? 11 : head.length)
  const rate = u32(head.readUInt32LE(4))
  return box('dOps', Buffer.of(0), head.subarray(1, 2), u16(head.readUInt16LE(2)), rate, gain, mapping)
}

function descriptor(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([Buffer.of(tag, 0x80, 0x80, 0x80, body.length), body])
}
