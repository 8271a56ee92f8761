import { RttEstimator } from './rtt-estimator.ts'
import type { RtpPacket } from './rtp-packet.ts'

export interface ReorderLimits {
  /**
   * How long to wait for a missing packet, counted from its detection or from the last arrival of another missing packet. With
   * NACK the wait is extended so that two requests can be answered.
   */
  readonly waitMs: number
  /** Maximum wait for a packet, in run time of this process. */
  readonly maxWaitMs: number
  /**
   * Silence beyond this does not count as wait time, because nothing can arrive during an outage. If two calls are further
   * apart than this, this process was blocked, and `maxWaitMs` does not count the rest.
   */
  readonly maxSilenceMs: number
  /** Maximum number of packets held behind a gap. */
  readonly maxHeld: number
  /** Null if lost packets are not requested. */
  readonly nack: NackLimits | null
}

export interface NackLimits {
  /** Delay of the first request, because the packet may only be out of order. */
  readonly graceMs: number
  /** Minimum time between two requests for a packet. The RTT is used if it is longer. */
  readonly retryMs: number
  /** Maximum number of requests per packet. */
  readonly maxRequests: number
  /** Used instead of `waitMs` before the first loss, while the RTT is unknown. */
  readonly firstWaitMs: number
}

export const VIDEO_REORDER: ReorderLimits = {
  waitMs: 250,
  maxWaitMs: 1_000,
  maxSilenceMs: 100,
  maxHeld: 4_096,
  nack: { graceMs: 10, retryMs: 20, maxRequests: 10, firstWaitMs: 600 },
}

export const AUDIO_REORDER: ReorderLimits = { waitMs: 80, maxWaitMs: 80, maxSilenceMs: 80, maxHeld: 256, nack: null }

/** A packet in sequence order. */
export interface OrderedPacket {
  readonly packet: RtpPacket
  /** Whether packets before it are lost. */
  readonly afterLoss: boolean
}

/** A missing packet. */
interface Missing {
  /** When it was detected. */
  readonly since: number
  /** The same as run time. */
  readonly runSince: number
  /** The same as wait time. */
  readonly waitSince: number
  requestedAt: number
  /** When it was first requested, as wait time. */
  firstRequestedAt: number
  /** Number of requests so far. */
  requests: number
}

/** A larger jump of sequence numbers is a new stream, not a loss. */
const MAX_GAP = 4_096
/** The wait is long enough for this many requests to be answered. */
const ANSWERED_REQUESTS = 2
/** Number of lost packets that are remembered, because a late arrival is still an RTT sample. */
const MAX_ABANDONED = 64

/**
 * Orders packets, decides which to request by NACK, and gives up those that do not come. Times are monotonic milliseconds.
 * {@link take} must be called about every 20 ms.
 *
 * Two clocks ignore outages. The run time counts the time in which this process was not blocked. The wait time counts the time
 * in which packets arrived. While a process was blocked, packets can be waiting in its socket.
 */
export class ReorderBuffer {
  readonly #limits: ReorderLimits
  readonly #held = new Map<number, RtpPacket>()
  readonly #missing = new Map<number, Missing>()
  /** The next sequence number to deliver. */
  #next: number | null = null
  #highest = 0
  #lastPacketAt = 0
  #lastCallAt: number | null = null
  /** Run time at the last call. */
  #runMs = 0
  /** Wait time at the last packet. */
  #waitTime = 0
  /** Wait time when a missing packet last arrived. */
  #progressAt = 0
  readonly #rtt = new RttEstimator()
  /** Lost packets, with the wait time of their first request. */
  readonly #abandoned = new Map<number, number>()
  #restarted = false
  /** Number of packets given up. */
  lost = 0
  /** Number of packets that arrived after a request. */
  recovered = 0
  /** Number of requests. */
  requested = 0

  constructor(limits: ReorderLimits) {
    this.#limits = limits
  }

  /** Whether packets are missing. */
  get isWaiting(): boolean {
    return this.#missing.size > 0
  }

  /** Adds a packet. `sequence` is unwrapped. Returns false for a duplicate, and for a packet that comes too late. */
  push(sequence: number, packet: RtpPacket, now: number): boolean {
    if (this.#next === null) {
      this.#next = sequence
      this.#highest = sequence - 1
    }
    this.#updateRunTime(now)
    this.#waitTime = this.#waitTimeAt(now)
    this.#lastPacketAt = now
    if (Math.abs(sequence - this.#highest) > MAX_GAP) this.#restart(sequence)
    if (sequence < this.#next) {
      this.#onLateReceived(sequence)
      return false
    }
    if (this.#held.has(sequence)) return false
    this.#held.set(sequence, packet)
    this.#onMissingReceived(sequence)
    for (let missed = this.#highest + 1; missed < sequence; missed += 1) {
      this.#missing.set(missed, {
        since: now,
        runSince: this.#runMs,
        waitSince: this.#waitTime,
        requestedAt: 0,
        firstRequestedAt: 0,
        requests: 0,
      })
    }
    this.#highest = Math.max(this.#highest, sequence)
    return true
  }

  /** Removes and returns the packets that are next in order. Gives up missing packets whose wait is over. */
  take(now: number): OrderedPacket[] {
    this.#updateRunTime(now)
    const ready: OrderedPacket[] = []
    while (this.#next !== null && this.#held.size > 0) {
      let afterLoss = this.#restarted
      if (!this.#held.has(this.#next)) {
        if (!this.#isLost(this.#next, now)) break
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

  /** Unwrapped sequence numbers to request now, ascending. */
  dueNacks(now: number): number[] {
    const { nack } = this.#limits
    if (nack === null) return []
    const retryMs = Math.max(nack.retryMs, this.#rtt.smoothedMs)
    const due: number[] = []
    for (const [sequence, missing] of this.#missing) {
      const isDue = missing.requests === 0 ? now - missing.since >= nack.graceMs : now - missing.requestedAt >= retryMs
      if (!isDue || missing.requests >= nack.maxRequests) continue
      if (missing.requests === 0) missing.firstRequestedAt = this.#waitTimeAt(now)
      missing.requests += 1
      missing.requestedAt = now
      due.push(sequence)
    }
    this.requested += due.length
    return due
  }

  #updateRunTime(now: number): void {
    this.#runMs += Math.min(now - (this.#lastCallAt ?? now), this.#limits.maxSilenceMs)
    this.#lastCallAt = now
  }

  #onMissingReceived(sequence: number): void {
    const missing = this.#missing.get(sequence)
    if (missing === undefined) return
    this.#missing.delete(sequence)
    this.#progressAt = this.#waitTime
    if (missing.requests === 0) return
    this.recovered += 1
    this.#rtt.add(this.#waitTime - missing.firstRequestedAt)
  }

  /** A packet that was given up too early is still an RTT sample. */
  #onLateReceived(sequence: number): void {
    const firstRequestedAt = this.#abandoned.get(sequence)
    if (firstRequestedAt === undefined) return
    this.#abandoned.delete(sequence)
    this.#rtt.add(this.#waitTime - firstRequestedAt)
  }

  #isLost(sequence: number, now: number): boolean {
    if (this.#held.size > this.#limits.maxHeld) return true
    const missing = this.#missing.get(sequence)
    if (missing === undefined) return false
    const waited = this.#waitTimeAt(now) - Math.max(missing.waitSince, this.#progressAt)
    return waited >= this.#waitLimitMs || this.#runMs - missing.runSince >= this.#limits.maxWaitMs
  }

  get #waitLimitMs(): number {
    const { nack, waitMs } = this.#limits
    if (nack === null) return waitMs
    if (!this.#rtt.isKnown && this.lost === 0) return nack.firstWaitMs
    return Math.max(waitMs, nack.graceMs + ANSWERED_REQUESTS * this.#rtt.timeoutMs)
  }

  #waitTimeAt(now: number): number {
    return this.#waitTime + Math.min(now - this.#lastPacketAt, this.#limits.maxSilenceMs)
  }

  /** Gives up the missing packets before the first held packet. */
  #skip(): void {
    const next = Math.min(...this.#held.keys())
    for (const [sequence, { requests, firstRequestedAt }] of this.#missing) {
      if (sequence >= next) continue
      this.#missing.delete(sequence)
      if (requests > 0) this.#abandoned.set(sequence, firstRequestedAt)
    }
    while (this.#abandoned.size > MAX_ABANDONED) this.#abandoned.delete(this.#abandoned.keys().next().value!)
    this.lost += next - this.#next!
    this.#next = next
  }

  #restart(sequence: number): void {
    this.#held.clear()
    this.#missing.clear()
    this.#abandoned.clear()
    this.#next = sequence
    this.#highest = sequence - 1
    this.#restarted = true
  }
}
