import type { ReportBlock, SenderReport } from './rtcp.ts'

/**
 * The statistics of one SSRC for receiver reports (RFC 3550, appendices A.3 and A.8). Retransmissions are not counted, so that
 * the sender sees the real loss of the network.
 */
export class SourceStatistics {
  readonly ssrc: number
  readonly #clockRate: number
  #first: number
  #highest: number
  #received = 0
  #jitter = 0
  #transit: number | null = null
  #expectedBefore = 0
  #receivedBefore = 0
  #lastReport: { readonly middle: number; readonly at: number } | null = null

  /** @param first unwrapped sequence number of the first packet */
  constructor(ssrc: number, clockRate: number, first: number) {
    this.ssrc = ssrc
    this.#clockRate = clockRate
    this.#first = this.#highest = first
  }

  /** Records a packet. `sequence` and `timestamp` are unwrapped. `now` is in monotonic milliseconds. */
  packet(sequence: number, timestamp: number, now: number): void {
    this.#received += 1
    this.#first = Math.min(this.#first, sequence)
    this.#highest = Math.max(this.#highest, sequence)
    const transit = (now * this.#clockRate) / 1_000 - timestamp
    if (this.#transit !== null) this.#jitter += (Math.abs(transit - this.#transit) - this.#jitter) / 16
    this.#transit = transit
  }

  get jitterMs(): number {
    return (this.#jitter / this.#clockRate) * 1_000
  }

  senderReport({ ntpMiddle }: SenderReport, now: number): void {
    this.#lastReport = { middle: ntpMiddle, at: now }
  }

  /** Builds a report block. The fraction lost covers the time since the last call. */
  report(now: number): ReportBlock {
    const expected = this.#highest - this.#first + 1
    const expectedSince = expected - this.#expectedBefore
    const lostSince = expectedSince - (this.#received - this.#receivedBefore)
    this.#expectedBefore = expected
    this.#receivedBefore = this.#received
    return {
      ssrc: this.ssrc,
      fractionLost:
        expectedSince > 0 && lostSince > 0 ? Math.min(255, Math.floor((lostSince * 256) / expectedSince)) : 0,
      cumulativeLost: expected - this.#received,
      highestSequence: this.#highest,
      jitter: this.#jitter,
      lastReport: this.#lastReport?.middle ?? 0,
      delaySinceLastReport: this.#lastReport === null ? 0 : ((now - this.#lastReport.at) * 65_536) / 1_000,
    }
  }
}
