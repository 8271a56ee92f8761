/** Without an RTMP acknowledgement for this long, TCP is asked. */
const ACKNOWLEDGEMENT_PATIENCE_MS = 5_000
/** So many acknowledgements make a habit: when one is missing after them, that means something. */
const HABIT = 4
/** Bytes that may be under way beyond the server's window before an acknowledgement is missing. */
const SLACK_BYTES = 262_144
const WRAP = 0x1_0000_0000

/**
 * Whether what one connection sends arrives. Two measures: RTMP Acknowledgements, which prove that the server read the
 * bytes, and, for servers that send none (the specification lets them), the bytes that TCP has not seen acknowledged,
 * which prove that the server's machine took them. A server that hangs still has a kernel that takes megabytes, so
 * while acknowledgements that came regularly are missing, TCP counts for nothing. Times are monotonic milliseconds,
 * bytes count from the start of the connection, plain RTMP, as both ends count them.
 */
export class Progress {
  #sent = 0
  #mediaFrom: number | null = null
  #rtmpAcknowledged = 0
  #rtmpSequence = 0
  #rtmpWindow = 0
  #rtmpAt: number | null = null
  #tcpAcknowledged: number | null = null
  #waits = false
  #movedAt: number
  /** Looks at TCP since the last movement that saw none. */
  #stillLooks = 0
  readonly #trustsSilence: boolean
  #rtmpCount = 0
  #tcpMovedInSilence = false

  /** `trustsSilence`: whether missing RTMP acknowledgements may be taken for a stall at all. */
  constructor(now: number, trustsSilence = true) {
    this.#movedAt = now
    this.#trustsSilence = trustsSilence
  }

  /** Whether TCP went on moving while RTMP acknowledgements were missing. */
  get tcpMovedInSilence(): boolean {
    return this.#tcpMovedInSilence
  }

  get sentBytes(): number {
    return this.#sent
  }

  /** By RTMP if the server acknowledges, else by TCP. */
  get acknowledgedBytes(): number {
    return this.#rtmpAt === null ? (this.#tcpAcknowledged ?? 0) : this.#rtmpAcknowledged
  }

  /** Some of the media was acknowledged, one way or the other. */
  get mediaArrived(): boolean {
    if (this.#mediaFrom === null) return false
    return this.#rtmpAcknowledged > this.#mediaFrom || (this.#tcpAcknowledged ?? 0) > this.#mediaFrom
  }

  /** What is sent from now on is media. */
  beginMedia(now: number): void {
    this.#mediaFrom ??= this.#sent
    this.#moved(now)
  }

  sent(bytes: number): void {
    this.#sent += bytes
  }

  /** An RTMP Acknowledgement (section 5.4.3): all bytes the server received, modulo 2^32. */
  rtmp(sequence: number, now: number): void {
    const step = (sequence - this.#rtmpSequence + WRAP) % WRAP
    const outstanding = this.#sent - this.#rtmpAcknowledged
    // nginx-rtmp starts its count anew at 0xf0000000; such a jump says only that another window has arrived.
    const believable = step <= outstanding ? step : Math.min(this.#rtmpWindow, outstanding)
    if (believable > 0) this.#moved(now)
    this.#rtmpCount += 1
    this.#tcpMovedInSilence = false
    if (this.#rtmpAt !== null) this.#rtmpWindow = Math.max(this.#rtmpWindow, believable)
    this.#rtmpAcknowledged += believable
    this.#rtmpSequence = sequence
    this.#rtmpAt = now
    if (this.#rtmpAcknowledged >= this.#sent) this.#waits = false
  }

  /**
   * A look at TCP: of the `sent` bytes written before it, `outstanding` are not acknowledged, what the process still
   * holds included.
   */
  tcp(sent: number, outstanding: number, now: number): void {
    const acknowledged = Math.max(0, sent - outstanding)
    const before = this.#tcpAcknowledged
    this.#tcpAcknowledged = Math.max(acknowledged, before ?? 0)
    this.#waits = outstanding > 0
    // The first look has nothing to compare with: it proves no movement, unless nothing is under way.
    const moved = !this.#waits || (before !== null && acknowledged > before)
    if (moved && !this.#isSilent()) {
      this.#moved(now)
    } else {
      this.#stillLooks += 1
      this.#tcpMovedInSilence ||= moved
    }
  }

  /** Whether RTMP acknowledgements alone do not tell enough at the moment. */
  needsTcp(now: number): boolean {
    if (this.#mediaFrom !== null && !this.mediaArrived) return this.#sent > this.#mediaFrom
    const heard = this.#rtmpAt !== null && now - this.#rtmpAt < ACKNOWLEDGEMENT_PATIENCE_MS
    return this.#sent > this.acknowledgedBytes && !heard
  }

  /** Milliseconds without movement although something was on its way; 0 while nothing is. `held`: bytes in the process. */
  stillFor(held: number, now: number): number {
    if (held === 0 && !this.#waits && !this.#isSilent()) this.#moved(now)
    return now - this.#movedAt
  }

  /**
   * Whether nothing moved for `ms`, by fresh looks at TCP: what was on its way when TCP was last asked may have arrived
   * long since, without another look or an acknowledgement to tell.
   */
  isStalled(held: number, now: number, ms: number): boolean {
    return this.stillFor(held, now) >= ms && this.#stillLooks >= 2
  }

  /** The server has acknowledged by habit, and an acknowledgement is missing. */
  #isSilent(): boolean {
    if (!this.#trustsSilence || this.#rtmpCount < HABIT) return false
    return this.#sent - this.#rtmpAcknowledged > 2 * this.#rtmpWindow + SLACK_BYTES
  }

  #moved(now: number): void {
    this.#movedAt = now
    this.#stillLooks = 0
  }
}
