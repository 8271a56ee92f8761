import type { ReceptionStatus } from '../../types.ts'
import type { ReportBlock, SenderReport } from './rtcp.ts'
import { SourceStatistics } from './source-statistics.ts'
import { ReorderBuffer, type OrderedPacket, type ReorderLimits } from './reorder-buffer.ts'
import { unwrapRtx, type RtpPacket } from './rtp-packet.ts'
import type { TrackClock } from './sync-clock.ts'
import { Unwrapper } from './unwrapper.ts'

export interface ReceiverOptions {
  readonly payloadType: number
  readonly rtxPayloadType: number | null
  readonly clockRate: number
  readonly limits: ReorderLimits
  readonly clock: TrackClock
  /** Called with packets in sequence order. `timestamp` is the unwrapped RTP timestamp. */
  readonly onPacket: (packet: RtpPacket, timestamp: number, afterLoss: boolean, now: number) => void
}

/** Receives the packets, retransmissions and sender reports of one track. */
export class Receiver {
  readonly #options: ReceiverOptions
  readonly #buffer: ReorderBuffer
  readonly #sequences = new Unwrapper(16)
  readonly #timestamps = new Unwrapper(32)
  #statistics: SourceStatistics | null = null
  #rtxSsrc: number | null = null

  constructor(options: ReceiverOptions) {
    this.#options = options
    this.#buffer = new ReorderBuffer(options.limits)
  }

  /** Null before the first packet. */
  get ssrc(): number | null {
    return this.#statistics?.ssrc ?? null
  }

  /** The SSRCs of the packets and of the RTX retransmissions. REMB must name both. */
  get sources(): number[] {
    return [this.ssrc, this.#rtxSsrc].filter((source) => source !== null)
  }

  status(): Omit<ReceptionStatus, 'kind'> {
    const { lost, recovered, requested } = this.#buffer
    return { lost, recovered, requested, jitterMs: this.#statistics?.jitterMs ?? 0 }
  }

  /** Handles a packet of the track's medium. Ignores unknown payload types. */
  push(packet: RtpPacket, now: number): void {
    const { payloadType, rtxPayloadType } = this.#options
    if (packet.payloadType === payloadType) this.#receive(packet, now, true)
    else if (packet.payloadType === rtxPayloadType && this.#statistics !== null) {
      this.#rtxSsrc = packet.ssrc
      const original = unwrapRtx(packet, payloadType, this.#statistics.ssrc)
      if (original !== null) this.#receive(original, now, false)
    }
    this.poll(now)
  }

  /** Delivers the packets that are in order, and those that have waited long enough. */
  poll(now: number): void {
    for (const ordered of this.#buffer.take(now)) this.#deliver(ordered, now)
  }

  /** Unwrapped sequence numbers to request by NACK now. */
  missing(now: number): number[] {
    return this.#buffer.isWaiting ? this.#buffer.dueNacks(now) : []
  }

  senderReport(report: SenderReport, now: number): void {
    if (this.#statistics?.ssrc !== report.ssrc) return
    this.#statistics.senderReport(report, now)
    this.#options.clock.report(report.ntpMs, this.#timestamps.peek(report.rtpTimestamp))
  }

  report(now: number): ReportBlock | null {
    return this.#statistics?.report(now) ?? null
  }

  #receive(packet: RtpPacket, now: number, isOriginal: boolean): void {
    const { clockRate } = this.#options
    const sequence = this.#sequences.unwrap(packet.sequence)
    if (isOriginal) {
      if (this.#statistics?.ssrc !== packet.ssrc)
        this.#statistics = new SourceStatistics(packet.ssrc, clockRate, sequence)
      this.#statistics.packet(sequence, this.#timestamps.peek(packet.timestamp), now)
    }
    this.#buffer.push(sequence, packet, now)
  }

  #deliver({ packet, afterLoss }: OrderedPacket, now: number): void {
    this.#options.onPacket(packet, this.#timestamps.unwrap(packet.timestamp), afterLoss, now)
  }
}
