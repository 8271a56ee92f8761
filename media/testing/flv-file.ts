import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Digest of an FLV tag or an RTMP message, to compare the two. */
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

/** Digests of the audio and video tags of an FLV file. */
export function readFlv(file: string): PacketDigest[] {
  return readTags(readFileSync(file)).flatMap(({ type, timestamp, payload }) =>
    type === 8 || type === 9 ? [digest(type === 8 ? 'audio' : 'video', timestamp, payload)] : [],
  )
}

export interface FlvTag {
  readonly type: number
  /** Milliseconds. */
  readonly timestamp: number
  readonly payload: Buffer
}

/** All complete tags of an FLV stream. */
export function readTags(bytes: Buffer): FlvTag[] {
  const tags: FlvTag[] = []
  for (let offset = 13; offset + 11 < bytes.length;) {
    const length = bytes.readUIntBE(offset + 1, 3)
    const end = offset + 11 + length + 4
    if (end > bytes.length) break
    const timestamp = bytes.readUIntBE(offset + 4, 3) + bytes[offset + 7]! * 0x100_0000
    tags.push({ type: bytes[offset]!, timestamp, payload: bytes.subarray(offset + 11, offset + 11 + length) })
    offset = end
  }
  return tags
}
