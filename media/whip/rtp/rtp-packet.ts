/** One RTP packet (RFC 3550, section 5.1). The payload is a view of the bytes it was read from. */
export interface RtpPacket {
  readonly marker: boolean
  readonly payloadType: number
  readonly sequence: number
  readonly timestamp: number
  readonly ssrc: number
  /** Null where it has none. */
  readonly extension: HeaderExtension | null
  readonly payload: Buffer
}

/** The header extension of a packet, as it stands in it. */
export interface HeaderExtension {
  /** Says how the elements are written (RFC 8285, section 4). */
  readonly profile: number
  readonly data: Buffer
}

const HEADER_BYTES = 12

/** RTP and RTCP share one port; the second byte tells them apart (RFC 5761, section 4). */
export function isRtcp(bytes: Buffer): boolean {
  const type = bytes[1] ?? 0
  return type >= 192 && type <= 223
}

/** Null for what is no RTP packet of version 2, or says that it is longer than it is. */
export function parseRtp(bytes: Buffer): RtpPacket | null {
  if (bytes.length < HEADER_BYTES || bytes[0]! >> 6 !== 2) return null
  const first = bytes[0]!
  let offset = HEADER_BYTES + (first & 0x0f) * 4
  let extension: HeaderExtension | null = null
  if (first & 0x10) {
    if (offset + 4 > bytes.length) return null
    const start = offset + 4
    const profile = bytes.readUInt16BE(offset)
    offset = start + bytes.readUInt16BE(offset + 2) * 4
    extension = { profile, data: bytes.subarray(start, offset) }
  }
  const padding = first & 0x20 ? bytes.at(-1)! : 0
  const end = bytes.length - padding
  if (offset > end || (first & 0x20 && padding === 0)) return null
  return {
    marker: (bytes[1]! & 0x80) !== 0,
    payloadType: bytes[1]! & 0x7f,
    sequence: bytes.readUInt16BE(2),
    timestamp: bytes.readUInt32BE(4),
    ssrc: bytes.readUInt32BE(8),
    extension,
    payload: bytes.subarray(offset, end),
  }
}

/**
 * The packet that a retransmission carries (RFC 4588, section 4): its original sequence number stands before the payload.
 * Null for one that carries none, such as padding that probes the bandwidth.
 */
export function unwrapRtx(packet: RtpPacket, payloadType: number, ssrc: number): RtpPacket | null {
  const { payload } = packet
  if (payload.length <= 2) return null
  return { ...packet, payloadType, ssrc, sequence: payload.readUInt16BE(), payload: payload.subarray(2) }
}
