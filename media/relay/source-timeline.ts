import type { MediaKind, MediaMessage } from '../types.ts'
import type { TimedMessage } from './relay-message.ts'

/** A larger step back of a track's timestamps counts as a restarted clock. Encoders that reorder cause smaller ones. */
const BACKWARD_TOLERANCE_MS = 1_000
/** A larger step ahead of the elapsed time counts as a restarted clock. */
const FORWARD_TOLERANCE_MS = 10_000

/**
 * Maps the timestamps of successive publishers to one timeline, in milliseconds from 0. Audio and video get the same
 * offset, so that they stay in sync. Timestamps of one kind never go back. When a publisher's clock restarts, the
 * timeline continues after the time that has actually passed.
 */
export class SourceTimeline {
  readonly #last: Record<MediaKind, number> = { audio: -1, video: -1, data: -1 }
  #offset: number | null = null
  #latest = 0
  #latestAt: number | null = null
  /** Timestamp of the next frame, after {@link resume}. */
  #resumeAt: number | null = null
  /** How far the timeline is ahead of real time, because buffered media was inserted after newer timestamps. */
  #aheadMs = 0

  /** The latest timestamp of the timeline. */
  get position(): number {
    return this.#latest
  }

  /** Another publisher sends from now on. Its clock is unrelated to the previous one. */
  restart(): void {
    this.#offset = null
  }

  /**
   * Another publisher sends from now on, starting with `spanMs` of buffered media. The media is placed where it would be
   * if it had been relayed on time. If that overlaps media that was already sent, it is placed later, and the timeline
   * runs ahead of real time until the next call corrects it.
   */
  resume(spanMs: number, now: number): void {
    this.#offset = null
    if (this.#latestAt === null) return
    const present = this.#latest + (now - this.#latestAt) - this.#aheadMs
    this.#resumeAt = Math.max(this.#latest + 1, Math.round(present - spanMs))
    this.#aheadMs = Math.max(0, this.#resumeAt + spanMs - present)
  }

  /** Places a message that arrived at `now` (monotonic milliseconds). */
  place(message: MediaMessage, now: number): TimedMessage {
    const { kind } = message
    const expected = this.#expected(now)
    const previousTimestamp = this.#last[kind]
    const timestamp = Math.max(this.#timestampOf(message, expected), previousTimestamp, 0)
    this.#last[kind] = timestamp
    if (timestamp >= this.#latest) {
      this.#latest = timestamp
      this.#latestAt = now
    }
    return { ...message, timestamp, previousTimestamp }
  }

  #expected(now: number): number {
    if (this.#resumeAt !== null) return this.#resumeAt
    return this.#latestAt === null ? 0 : this.#latest + Math.max(1, Math.round(now - this.#latestAt))
  }

  #timestampOf(message: MediaMessage, expected: number): number {
    // Encoders send configurations and data with timestamp 0 at any time, so these do not show the state of the clock.
    if (message.isSequenceHeader || message.kind === 'data') {
      return this.#offset === null ? expected : Math.min(message.timestamp + this.#offset, expected)
    }
    if (this.#offset === null || this.#isDiscontinuous(message, message.timestamp + this.#offset, expected)) {
      this.#offset = expected - message.timestamp
      this.#resumeAt = null
    }
    return message.timestamp + this.#offset
  }

  #isDiscontinuous(message: MediaMessage, timestamp: number, expected: number): boolean {
    const last = this.#last[message.kind]
    if (last < 0) return false
    return timestamp < last - BACKWARD_TOLERANCE_MS || timestamp > expected + FORWARD_TOLERANCE_MS
  }
}
