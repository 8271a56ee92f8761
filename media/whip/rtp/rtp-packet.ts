/** An RTP packet (RFC 3550, section 5.1). The payload is a view of the received bytes. */
export interface RtpPacket {
  readonly marker: boolean
  readonly payloadType: number
  readonly sequence: number
  readonly timestamp: number
  readonly ssrc: number
  /** Null without a header extension. */
  readonly extension: HeaderExtension | null
  readonly payload: Buffer
}

/** The undecoded header extension of a packet. */
export interface HeaderExtension {
  /** Selects the one-byte or two-byte format of the elements (RFC 8285, section 4). */
  readonly profile: number
  readonly data: Buffer
}

const HEADER_BYTES = 12

/** Whether a packet is RTCP. RTP and RTCP share a port and differ in the second byte (RFC 5761, section 4). */
export function isRtcp(bytes: Buffer): boolean {
  const type = bytes[1] ?? 0
  return type >= 192 && type <= 223
}

/** Parses an RTP packet. Null if it is not RTP version 2, or shorter than its header says. */
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
 * The original packet in an RTX packet (RFC 4588, section 4). The payload starts with the original sequence number. Null if
 * there is no further payload, as in padding for bandwidth probing.
 */
export function unwrapRtx(packet: RtpPacket, payloadType: number, ssrc: number): RtpPacket | null {
  const { payload } = packet
  if (payload.length <= 2) return null
  return { ...packet, payloadType, ssrc, sequence: payload.readUInt16BE(), payload: payload.subarray(2) }
}
