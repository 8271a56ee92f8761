/** Reads and writes RTCP packets: RFC 3550 (reports), RFC 4585 (NACK, PLI), REMB (draft-alvestrand-rmcat-remb-03). */

export interface SenderReport {
  readonly ssrc: number
  /** Wall clock of the sender, milliseconds since 1900. */
  readonly ntpMs: number
  /** The middle 32 bits of the NTP timestamp, which receiver reports return as LSR. */
  readonly ntpMiddle: number
  readonly rtpTimestamp: number
}

/** The block of one SSRC in a receiver report. */
export interface ReportBlock {
  readonly ssrc: number
  /** Fraction lost since the last report, in units of 1/256. */
  readonly fractionLost: number
  readonly cumulativeLost: number
  readonly highestSequence: number
  /** In RTP timestamp units. */
  readonly jitter: number
  /** LSR: `ntpMiddle` of the last sender report; 0 without one. */
  readonly lastReport: number
  /** DLSR: time since that report, in units of 1/65536 s. */
  readonly delaySinceLastReport: number
}

const SENDER_REPORT = 200
const RECEIVER_REPORT = 201
const SOURCE_DESCRIPTION = 202
const TRANSPORT_FEEDBACK = 205
const PAYLOAD_FEEDBACK = 206
const NACK = 1
const PLI = 1
const APPLICATION_FEEDBACK = 15
const CNAME = 1
const UINT32 = 0x1_0000_0000
/** Sequence numbers that one NACK entry covers: its own and the next 16. */
const NACK_SPAN = 17
const MAX_NACK_ENTRIES = 200

/** The sender reports of a compound packet. Stops at the first invalid part. */
export function readSenderReports(bytes: Buffer): SenderReport[] {
  const reports: SenderReport[] = []
  let offset = 0
  while (offset + 4 <= bytes.length && bytes[offset]! >> 6 === 2) {
    const size = (bytes.readUInt16BE(offset + 2) + 1) * 4
    if (offset + size > bytes.length) break
    if (bytes[offset + 1] === SENDER_REPORT && size >= 28) {
      const seconds = bytes.readUInt32BE(offset + 8)
      const fraction = bytes.readUInt32BE(offset + 12)
      reports.push({
        ssrc: bytes.readUInt32BE(offset + 4),
        ntpMs: seconds * 1_000 + (fraction * 1_000) / UINT32,
        ntpMiddle: ((seconds & 0xffff) * 0x1_0000 + (fraction >>> 16)) >>> 0,
        rtpTimestamp: bytes.readUInt32BE(offset + 16),
      })
    }
    offset += size
  }
  return reports
}

/** A receiver report with a CNAME. A compound packet must start with a report (RFC 3550, section 6.1). */
export function receiverReport(own: number, blocks: readonly ReportBlock[]): Buffer {
  const bytes = header(blocks.length, RECEIVER_REPORT, 8 + blocks.length * 24)
  bytes.writeUInt32BE(own, 4)
  blocks.forEach((block, index) => {
    const at = 8 + index * 24
    bytes.writeUInt32BE(block.ssrc, at)
    bytes.writeUInt8(block.fractionLost, at + 4)
    bytes.writeIntBE(Math.max(-0x80_0000, Math.min(0x7f_ffff, block.cumulativeLost)), at + 5, 3)
    bytes.writeUInt32BE(modulo(block.highestSequence), at + 8)
    bytes.writeUInt32BE(modulo(Math.round(block.jitter)), at + 12)
    bytes.writeUInt32BE(block.lastReport, at + 16)
    bytes.writeUInt32BE(modulo(Math.round(block.delaySinceLastReport)), at + 20)
  })
  return Buffer.concat([bytes, sourceDescription(own)])
}

function sourceDescription(own: number): Buffer {
  const name = Buffer.from('crier')
  // The item list ends with at least one zero byte and is padded to 32 bits.
  const bytes = header(1, SOURCE_DESCRIPTION, 4 + Math.ceil((4 + 2 + name.length + 1) / 4) * 4)
  bytes.writeUInt32BE(own, 4)
  bytes.set([CNAME, name.length], 8)
  name.copy(bytes, 10)
  return bytes
}

/** A generic NACK. `sequences` are unwrapped and ascending. Their low 16 bits are sent. */
export function nack(own: number, media: number, sequences: readonly number[]): Buffer {
  const entries: { first: number; mask: number }[] = []
  for (const sequence of sequences) {
    const entry = entries.at(-1)
    if (entry !== undefined && sequence - entry.first < NACK_SPAN) entry.mask |= 1 << (sequence - entry.first - 1)
    else if (entries.length === MAX_NACK_ENTRIES) break
    else entries.push({ first: sequence, mask: 0 })
  }
  const bytes = feedback(NACK, TRANSPORT_FEEDBACK, own, media, entries.length * 4)
  entries.forEach(({ first, mask }, index) => {
    bytes.writeUInt16BE(first & 0xffff, 12 + index * 4)
    bytes.writeUInt16BE(mask, 14 + index * 4)
  })
  return bytes
}

/** A picture loss indication (PLI): requests a keyframe. */
export function pli(own: number, media: number): Buffer {
  return feedback(PLI, PAYLOAD_FEEDBACK, own, media, 0)
}

/** A receiver estimated maximum bitrate (REMB): limits the total bitrate of the sender. */
export function remb(own: number, bitsPerSecond: number, sources: readonly number[]): Buffer {
  let exponent = 0
  while (bitsPerSecond / 2 ** exponent >= 2 ** 18) exponent += 1
  const mantissa = Math.floor(bitsPerSecond / 2 ** exponent)
  const bytes = feedback(APPLICATION_FEEDBACK, PAYLOAD_FEEDBACK, own, 0, 8 + sources.length * 4)
  bytes.write('REMB', 12, 'latin1')
  bytes.writeUInt8(sources.length, 16)
  bytes.writeUIntBE(exponent * 2 ** 18 + mantissa, 17, 3)
  sources.forEach((source, index) => bytes.writeUInt32BE(source, 20 + index * 4))
  return bytes
}

function feedback(format: number, type: number, own: number, media: number, more: number): Buffer {
  const bytes = header(format, type, 12 + more)
  bytes.writeUInt32BE(own, 4)
  bytes.writeUInt32BE(media, 8)
  return bytes
}

function header(count: number, type: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.writeUInt8(0x80 | count, 0)
  bytes.writeUInt8(type, 1)
  bytes.writeUInt16BE(size / 4 - 1, 2)
  return bytes
}

function modulo(value: number): number {
  return ((value % UINT32) + UINT32) % UINT32
}
