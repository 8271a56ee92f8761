/** Without an RTMP acknowledgement for this long, TCP is sampled. */
const ACKNOWLEDGEMENT_TIMEOUT_MS = 5_000
/** After this many acknowledgements the server is expected to send more. */
const REGULAR_ACKNOWLEDGEMENTS = 4
/** Bytes beyond two windows that may be in flight before an acknowledgement counts as missing. */
const SLACK_BYTES = 262_144
const WRAP = 0x1_0000_0000

/**
 * Measures whether the data of one connection arrives. RTMP Acknowledgements prove that the server has read the bytes.
 * Servers may omit them; then TCP acknowledgements prove that the server's kernel has received the bytes. The kernel of a
 * hanging server still accepts megabytes, so TCP does not count as progress while regular RTMP acknowledgements are
 * missing. Times are monotonic milliseconds. Byte counts start with the connection and exclude TLS, as RTMP counts them.
 */
export class DeliveryProgress {
  #sent = 0
  #mediaFrom: number | null = null
  #rtmpAcknowledged = 0
  #rtmpSequence = 0
  #rtmpWindow = 0
  #rtmpAt: number | null = null
  #tcpAcknowledged: number | null = null
  /** Whether TCP has unacknowledged bytes, according to the last sample. */
  #isOutstanding = false
  #progressAt: number
  /** TCP samples without progress since the last progress. */
  #stalledSamples = 0
  readonly #expectsAcknowledgements: boolean
  #rtmpCount = 0
  #onlyTcpProgressed = false

  /** `expectsAcknowledgements`: whether missing RTMP acknowledgements can count as a stall. */
  constructor(now: number, expectsAcknowledgements = true) {
    this.#progressAt = now
    this.#expectsAcknowledgements = expectsAcknowledgements
  }

  /** Whether TCP made progress while RTMP acknowledgements were missing. */
  get onlyTcpProgressed(): boolean {
    return this.#onlyTcpProgressed
  }

  get sentBytes(): number {
    return this.#sent
  }

  /** By RTMP if the server sends acknowledgements, otherwise by TCP. */
  get acknowledgedBytes(): number {
    return this.#rtmpAt === null ? (this.#tcpAcknowledged ?? 0) : this.#rtmpAcknowledged
  }

  /** Whether some media was acknowledged, by RTMP or by TCP. */
  get hasMediaArrived(): boolean {
    if (this.#mediaFrom === null) return false
    return this.#rtmpAcknowledged > this.#mediaFrom || (this.#tcpAcknowledged ?? 0) > this.#mediaFrom
  }

  /** Bytes that are sent from now on are media. */
  beginMedia(now: number): void {
    this.#mediaFrom ??= this.#sent
    this.#noteProgress(now)
  }

  noteSent(bytes: number): void {
    this.#sent += bytes
  }

  /** An RTMP Acknowledgement (section 5.4.3): all bytes that the server has received, modulo 2^32. */
  noteAcknowledgement(sequence: number, now: number): void {
    const step = (sequence - this.#rtmpSequence + WRAP) % WRAP
    const outstanding = this.#sent - this.#rtmpAcknowledged
    // nginx-rtmp restarts its count at 0xf0000000. Such a jump only means that another window has arrived.
    const received = step <= outstanding ? step : Math.min(this.#rtmpWindow, outstanding)
    if (received > 0) this.#noteProgress(now)
    this.#rtmpCount += 1
    this.#onlyTcpProgressed = false
    if (this.#rtmpAt !== null) this.#rtmpWindow = Math.max(this.#rtmpWindow, received)
    this.#rtmpAcknowledged += received
    this.#rtmpSequence = sequence
    this.#rtmpAt = now
    if (this.#rtmpAcknowledged >= this.#sent) this.#isOutstanding = false
  }

  /**
   * A sample of TCP: of the `sent` bytes that were written before it, `outstanding` are not acknowledged, including those
   * that are still in the process.
   */
  noteTcpSample(sent: number, outstanding: number, now: number): void {
    const acknowledged = Math.max(0, sent - outstanding)
    const before = this.#tcpAcknowledged
    this.#tcpAcknowledged = Math.max(acknowledged, before ?? 0)
    this.#isOutstanding = outstanding > 0
    // The first sample has nothing to compare with, so it shows progress only if nothing is outstanding.
    const progressed = !this.#isOutstanding || (before !== null && acknowledged > before)
    if (progressed && !this.#isAcknowledgementMissing()) {
      this.#noteProgress(now)
    } else {
      this.#stalledSamples += 1
      this.#onlyTcpProgressed ||= progressed
    }
  }

  /** Whether RTMP acknowledgements are not enough at the moment, so that TCP must be sampled. */
  needsTcpSample(now: number): boolean {
    if (this.#mediaFrom !== null && !this.hasMediaArrived) return this.#sent > this.#mediaFrom
    const isRecent = this.#rtmpAt !== null && now - this.#rtmpAt < ACKNOWLEDGEMENT_TIMEOUT_MS
    return this.#sent > this.acknowledgedBytes && !isRecent
  }

  /** Milliseconds without progress while data is in flight. 0 when none is. `buffered`: bytes that are still in the process. */
  timeWithoutProgress(buffered: number, now: number): number {
    if (buffered === 0 && !this.#isOutstanding && !this.#isAcknowledgementMissing()) this.#noteProgress(now)
    return now - this.#progressAt
  }

  /**
   * Whether there was no progress for `ms`. It takes two TCP samples, because data that was in flight at an older sample
   * may have arrived since.
   */
  isStalled(buffered: number, now: number, ms: number): boolean {
    return this.timeWithoutProgress(buffered, now) >= ms && this.#stalledSamples >= 2
  }

  /** Whether the server has sent acknowledgements regularly and one is missing. */
  #isAcknowledgementMissing(): boolean {
    if (!this.#expectsAcknowledgements || this.#rtmpCount < REGULAR_ACKNOWLEDGEMENTS) return false
    return this.#sent - this.#rtmpAcknowledged > 2 * this.#rtmpWindow + SLACK_BYTES
  }

  #noteProgress(now: number): void {
    this.#progressAt = now
    this.#stalledSamples = 0
  }
}
