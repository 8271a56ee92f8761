import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** One audio or video tag of an FLV file, or one message of a stream, for comparing the two. */
export interface PacketDigest {
  readonly kind: 'audio' | 'video'
  /** Milliseconds. */
  readonly timestamp: number
  readonly bytes: number
  readonly checksum: string
}

export function digest(kind: 'audio' | 'video', timestamp: number, payload: Buffer): PacketDigest {
  const checksum = createHash('md5').update(payload).digest('hex')
  return { kind, timestamp, bytes: payload.length, checksum }
}

/** The audio and video tags of an FLV file, in order; script tags are left out. */
export function readFlv(file: string): PacketDigest[] {
  const bytes = readFileSync(file)
  const packets: PacketDigest[] = []
  for (let offset = 13; offset < bytes.length;) {
    const type = bytes[offset]
    const length = bytes.readUIntBE(offset + 1, 3)
    const timestamp = bytes.readUIntBE(offset + 4, 3) + bytes[offset + 7]! * 0x100_0000
    const payload = bytes.subarray(offset + 11, offset + 11 + length)
    if (type === 8 || type === 9) packets.push(digest(type === 8 ? 'audio' : 'video', timestamp, payload))
    offset += 11 + length + 4
  }
  return packets
}
