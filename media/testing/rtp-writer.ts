const MAX_PAYLOAD_BYTES = 1_100

export interface RtpTrack {
  readonly ssrc: number
  readonly payloadType: number
  sequence: number
}

/** Makes an RTP packet with the track's next sequence number. */
export function rtpPacket(track: RtpTrack, timestamp: number, marker: boolean, payload: Buffer): Buffer {
  const header = Buffer.alloc(12)
  header[0] = 0x80
  header[1] = (marker ? 0x80 : 0) | track.payloadType
  header.writeUInt16BE(track.sequence, 2)
  header.writeUInt32BE(timestamp >>> 0, 4)
  header.writeUInt32BE(track.ssrc, 8)
  track.sequence = (track.sequence + 1) & 0xffff
  return Buffer.concat([header, payload])
}

/** RTP payloads of an access unit (RFC 6184): parameter sets in a STAP-A, other NAL units as such or in FU-As. */
export function h264Payloads(nals: readonly Buffer[], maxBytes = MAX_PAYLOAD_BYTES): Buffer[] {
  const sets = nals.filter((nal) => [7, 8].includes(nal[0]! & 0x1f))
  const others = nals.filter((nal) => ![7, 8, 9].includes(nal[0]! & 0x1f))
  const aggregate = sets.flatMap((nal) => [Buffer.of(nal.length >> 8, nal.length & 0xff), nal])
  return [
    ...(sets.length === 0 ? [] : [Buffer.concat([Buffer.of(0x78), ...aggregate])]),
    ...others.flatMap((nal) => (nal.length <= maxBytes ? [nal] : fragments(nal, maxBytes))),
  ]
}

function fragments(nal: Buffer, maxBytes: number): Buffer[] {
  const parts: Buffer[] = []
  const indicator = (nal[0]! & 0xe0) | 28
  for (let offset = 1; offset < nal.length; offset += maxBytes) {
    const end = Math.min(nal.length, offset + maxBytes)
    const flags = (offset === 1 ? 0x80 : 0) | (end === nal.length ? 0x40 : 0)
    parts.push(Buffer.concat([Buffer.of(indicator, flags | (nal[0]! & 0x1f)), nal.subarray(offset, end)]))
  }
  return parts
}

/** Makes a sender report without report blocks. @param wallMs milliseconds since 1900 */
export function senderReport(ssrc: number, wallMs: number, rtpTimestamp: number): Buffer {
  const bytes = Buffer.alloc(28)
  bytes.set([0x80, 200, 0, 6])
  bytes.writeUInt32BE(ssrc, 4)
  bytes.writeUInt32BE(Math.floor(wallMs / 1_000) >>> 0, 8)
  bytes.writeUInt32BE(Math.floor(((wallMs % 1_000) / 1_000) * 2 ** 32), 12)
  bytes.writeUInt32BE(rtpTimestamp >>> 0, 16)
  return bytes
}
