import type { MediaKind, MediaMessage } from '../types.ts'
import type { TimedMessage } from './relay-message.ts'

/** A track's clock may step back by this much (encoders that reorder) before it counts as started anew. */
const BACKWARD_TOLERANCE_MS = 1_000
/** A track's clock may run ahead of what passed by this much in one step before it counts as started anew. */
const FORWARD_TOLERANCE_MS = 10_000

/**
 * One timeline for all publishers that a source sees one after another, in milliseconds from 0. Audio and video are
 * moved by the same offset, so that they stay together; nothing of one kind ever goes back. Where a publisher's clock
 * starts anew, the timeline goes on after the time that really passed.
 */
export class Timeline {
  readonly #last: Record<MediaKind, number> = { audio: -1, video: -1, data: -1 }
  #offset: number | null = null
  #latest = 0
  #latestAt: number | null = null
  /** Where the next frame belongs, after {@link resume}. */
  #resumeAt: number | null = null
  /** How far the line ran ahead of real time by media that was played late but in full. */
  #lead = 0

  /** The latest position given out. */
  get position(): number {
    return this.#latest
  }

  /** The next message has a clock of its own: another publisher sends from here on. */
  restart(): void {
    this.#offset = null
  }

  /**
   * The next messages have a clock of their own, and the first `spanMs` of them are past: they are put where they would
   * lie, had they come in time, as far as that part of the line is free. What is not free moves them forward; the next
   * call takes that back.
   */
  resume(spanMs: number, now: number): void {
    this.#offset = null
    if (this.#latestAt === null) return
    const present = this.#latest + (now - this.#latestAt) - this.#lead
    this.#resumeAt = Math.max(this.#latest + 1, Math.round(present - spanMs))
    this.#lead = Math.max(0, this.#resumeAt + spanMs - present)
  }

  /** Places a message that arrived at `now` (monotonic milliseconds). */
  place(message: MediaMessage, now: number): TimedMessage {
    const { kind } = message
    const expected = this.#expected(now)
    const previousTimestamp = this.#last[kind]
    const timestamp = Math.max(this.#placed(message, expected), previousTimestamp, 0)
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

  #placed(message: MediaMessage, expected: number): number {
    // Encoders stamp configurations and data with 0 at any time: such a message says nothing about the clock.
    if (message.isHeader || message.kind === 'data') {
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
