import type { ReceptionStatus } from '../../types.ts'
import type { ReportBlock, SenderReport } from './rtcp.ts'
import { Reception } from './reception.ts'
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
  /** A packet in its turn; its timestamp lies on a line. */
  readonly onPacket: (packet: RtpPacket, timestamp: number, afterLoss: boolean, now: number) => void
}

/** Receives one track: its packets, those sent again, and the sender's reports. */
export class Receiver {
  readonly #options: ReceiverOptions
  readonly #buffer: ReorderBuffer
  readonly #sequences = new Unwrapper(16)
  readonly #timestamps = new Unwrapper(32)
  #reception: Reception | null = null
  #rtxSsrc: number | null = null

  constructor(options: ReceiverOptions) {
    this.#options = options
    this.#buffer = new ReorderBuffer(options.limits)
  }

  /** Null before its first packet. */
  get ssrc(): number | null {
    return this.#reception?.ssrc ?? null
  }

  /** Of its packets and of those sent again: whom a bitrate limit names. */
  get sources(): number[] {
    return [this.ssrc, this.#rtxSsrc].filter((source) => source !== null)
  }

  status(): Omit<ReceptionStatus, 'kind'> {
    const { lost, recovered, requested } = this.#buffer
    return { lost, recovered, requested, jitterMs: this.#reception?.jitterMs ?? 0 }
  }

  /** Takes a packet of the track's medium; others than its own are left alone. */
  push(packet: RtpPacket, now: number): void {
    const { payloadType, rtxPayloadType } = this.#options
    if (packet.payloadType === payloadType) this.#take(packet, now, true)
    else if (packet.payloadType === rtxPayloadType && this.#reception !== null) {
      this.#rtxSsrc = packet.ssrc
      const original = unwrapRtx(packet, payloadType, this.#reception.ssrc)
      if (original !== null) this.#take(original, now, false)
    }
    this.poll(now)
  }

  /** Delivers what is no longer waited for. */
  poll(now: number): void {
    for (const ordered of this.#buffer.take(now)) this.#deliver(ordered, now)
  }

  /** Numbers of packets to ask for again. */
  missing(now: number): number[] {
    return this.#buffer.isWaiting ? this.#buffer.due(now) : []
  }

  senderReport(report: SenderReport, now: number): void {
    if (this.#reception?.ssrc !== report.ssrc) return
    this.#reception.senderReport(report, now)
    this.#options.clock.report(report.ntpMs, this.#timestamps.peek(report.rtpTimestamp))
  }

  report(now: number): ReportBlock | null {
    return this.#reception?.report(now) ?? null
  }

  #take(packet: RtpPacket, now: number, isOriginal: boolean): void {
    const { clockRate } = this.#options
    const sequence = this.#sequences.unwrap(packet.sequence)
    if (isOriginal) {
      if (this.#reception?.ssrc !== packet.ssrc) this.#reception = new Reception(packet.ssrc, clockRate, sequence)
      this.#reception.packet(sequence, this.#timestamps.peek(packet.timestamp), now)
    }
    this.#buffer.push(sequence, packet, now)
  }

  #deliver({ packet, afterLoss }: OrderedPacket, now: number): void {
    this.#options.onPacket(packet, this.#timestamps.unwrap(packet.timestamp), afterLoss, now)
  }
}
