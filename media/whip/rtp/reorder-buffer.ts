import { RoundTrip } from './round-trip.ts'
import type { RtpPacket } from './rtp-packet.ts'

export interface ReorderLimits {
  /**
   * How long a missing packet is waited for, since it was missed or since another one came that had been missing. Longer
   * where it is asked for and answers take longer: the request, and one more, must have time to be answered.
   */
  readonly waitMs: number
  /** The longest wait for a packet, counted while this process runs. */
  readonly longestWaitMs: number
  /**
   * Silence beyond this does not count as waiting: a line, a sender or a process that stands still brings nothing at all.
   * A longer pause between two calls is a standstill of this process, which `longestWaitMs` does not count.
   */
  readonly quietMs: number
  /** Packets held behind a gap. */
  readonly mostHeld: number
  /** Null where nothing is asked for again. */
  readonly nack: NackLimits | null
}

export interface NackLimits {
  /** Packets that come out of order are not asked for at once. */
  readonly graceMs: number
  /** Between two requests for the same packet: this, or a round trip where that is longer. */
  readonly againMs: number
  readonly most: number
  /** Replaces `waitMs` for the first loss: how long an answer takes, and whether any comes, is not known yet. */
  readonly firstWaitMs: number
}

export const VIDEO_REORDER: ReorderLimits = {
  waitMs: 250,
  longestWaitMs: 1_000,
  quietMs: 100,
  mostHeld: 4_096,
  nack: { graceMs: 10, againMs: 20, most: 10, firstWaitMs: 600 },
}

export const AUDIO_REORDER: ReorderLimits = { waitMs: 80, longestWaitMs: 80, quietMs: 80, mostHeld: 256, nack: null }

/** A packet in its turn. */
export interface OrderedPacket {
  readonly packet: RtpPacket
  /** Packets before it were given up. */
  readonly afterLoss: boolean
}

interface Missing {
  readonly since: number
  /** The same as running time of this process. */
  readonly ranSince: number
  /** The same on the line of what counts as waiting. */
  readonly waitingSince: number
  askedAt: number
  /** On the line of what counts as waiting: when it was first asked for. */
  firstAskedAt: number
  asked: number
}

/** A jump of sequence numbers beyond this is another stream, not a loss. */
const GREATEST_GAP = 4_096
/** Requests that must have time to be answered. */
const TRIES = 2
/** Of packets given up, so many are remembered, for what their answers tell of the line. */
const MOST_GIVEN_UP = 64

/**
 * Puts packets in order, says which to ask for again, and gives up what does not come. Times are monotonic milliseconds.
 * {@link take} must be called every few hundredths of a second.
 */
export class ReorderBuffer {
  readonly #limits: ReorderLimits
  readonly #held = new Map<number, RtpPacket>()
  readonly #missing = new Map<number, Missing>()
  #next: number | null = null
  #highest = 0
  #heardAt = 0
  #calledAt: number | null = null
  /** How long this process has run since the first call, without standstills. The answers may have come meanwhile. */
  #ranMs = 0
  /** What counted as waiting until then, milliseconds. */
  #waited = 0
  /** On that line: when a packet last came that had been missing. */
  #progressAt = 0
  readonly #roundTrip = new RoundTrip()
  /** When packets that were given up had first been asked for, on the line of what counts as waiting. */
  readonly #givenUp = new Map<number, number>()
  #restarted = false
  /** Packets that were given up. */
  lost = 0
  /** Packets that came after they had been asked for. */
  recovered = 0
  /** Packets asked for, each time that they were. */
  requested = 0

  constructor(limits: ReorderLimits) {
    this.#limits = limits
  }

  /** Whether something is waited for. */
  get isWaiting(): boolean {
    return this.#missing.size > 0
  }

  /** Takes a packet whose number lies at `sequence` on a line; false for one that came before, or too late. */
  push(sequence: number, packet: RtpPacket, now: number): boolean {
    if (this.#next === null) {
      this.#next = sequence
      this.#highest = sequence - 1
    }
    this.#noteCall(now)
    this.#waited = this.#waitedAt(now)
    this.#heardAt = now
    if (Math.abs(sequence - this.#highest) > GREATEST_GAP) this.#restart(sequence)
    if (sequence < this.#next) {
      this.#noteLate(sequence)
      return false
    }
    if (this.#held.has(sequence)) return false
    this.#held.set(sequence, packet)
    this.#noteFound(sequence)
    for (let missed = this.#highest + 1; missed < sequence; missed += 1) {
      this.#missing.set(missed, {
        since: now,
        ranSince: this.#ranMs,
        waitingSince: this.#waited,
        askedAt: 0,
        firstAskedAt: 0,
        asked: 0,
      })
    }
    this.#highest = Math.max(this.#highest, sequence)
    return true
  }

  /** The packets whose turn it is. */
  take(now: number): OrderedPacket[] {
    this.#noteCall(now)
    const ready: OrderedPacket[] = []
    while (this.#next !== null && this.#held.size > 0) {
      let afterLoss = this.#restarted
      if (!this.#held.has(this.#next)) {
        if (!this.#isHopeless(this.#next, now)) break
        this.#skip()
        afterLoss = true
      }
      const packet = this.#held.get(this.#next)!
      this.#held.delete(this.#next)
      this.#next += 1
      this.#restarted = false
      ready.push({ packet, afterLoss })
    }
    return ready
  }

  /** Numbers (on the line, ascending) to ask for again now. */
  due(now: number): number[] {
    const { nack } = this.#limits
    if (nack === null) return []
    const again = Math.max(nack.againMs, this.#roundTrip.smoothedMs)
    const due: number[] = []
    for (const [sequence, missing] of this.#missing) {
      const waited = missing.asked === 0 ? now - missing.since >= nack.graceMs : now - missing.askedAt >= again
      if (!waited || missing.asked >= nack.most) continue
      if (missing.asked === 0) missing.firstAskedAt = this.#waitedAt(now)
      missing.asked += 1
      missing.askedAt = now
      due.push(sequence)
    }
    this.requested += due.length
    return due
  }

  #noteCall(now: number): void {
    this.#ranMs += Math.min(now - (this.#calledAt ?? now), this.#limits.quietMs)
    this.#calledAt = now
  }

  #noteFound(sequence: number): void {
    const missing = this.#missing.get(sequence)
    if (missing === undefined) return
    this.#missing.delete(sequence)
    this.#progressAt = this.#waited
    if (missing.asked === 0) return
    this.recovered += 1
    this.#roundTrip.add(this.#waited - missing.firstAskedAt)
  }

  /** An answer to a packet that was given up too early still tells how long answers take. */
  #noteLate(sequence: number): void {
    const firstAskedAt = this.#givenUp.get(sequence)
    if (firstAskedAt === undefined) return
    this.#givenUp.delete(sequence)
    this.#roundTrip.add(this.#waited - firstAskedAt)
  }

  #isHopeless(sequence: number, now: number): boolean {
    if (this.#held.size > this.#limits.mostHeld) return true
    const missing = this.#missing.get(sequence)
    if (missing === undefined) return false
    const waited = this.#waitedAt(now) - Math.max(missing.waitingSince, this.#progressAt)
    return waited >= this.#patienceMs || this.#ranMs - missing.ranSince >= this.#limits.longestWaitMs
  }

  get #patienceMs(): number {
    const { nack, waitMs } = this.#limits
    if (nack === null) return waitMs
    if (!this.#roundTrip.isKnown && this.lost === 0) return nack.firstWaitMs
    return Math.max(waitMs, nack.graceMs + TRIES * this.#roundTrip.timeoutMs)
  }

  #waitedAt(now: number): number {
    return this.#waited + Math.min(now - this.#heardAt, this.#limits.quietMs)
  }

  /** Gives up everything before the first packet that is held. */
  #skip(): void {
    const next = Math.min(...this.#held.keys())
    for (const [sequence, { asked, firstAskedAt }] of this.#missing) {
      if (sequence >= next) continue
      this.#missing.delete(sequence)
      if (asked > 0) this.#givenUp.set(sequence, firstAskedAt)
    }
    while (this.#givenUp.size > MOST_GIVEN_UP) this.#givenUp.delete(this.#givenUp.keys().next().value!)
    this.lost += next - this.#next!
    this.#next = next
  }

  #restart(sequence: number): void {
    this.#held.clear()
    this.#missing.clear()
    this.#givenUp.clear()
    this.#next = sequence
    this.#highest = sequence - 1
    this.#restarted = true
  }
}
