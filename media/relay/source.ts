import type { MediaMessage } from '../types.ts'
import { GopCache, type GopLimits } from './gop-cache.ts'
import { encodeBatch, type RelayBatch, type RelayMessage, type TimedMessage } from './relay-message.ts'
import { SourceTimeline } from './source-timeline.ts'

/** Receives what a source sends. `write` must return at once; the output bounds its own queue. */
export interface Output {
  write(batch: RelayBatch): void
}

/** What an output sends first when it joins. */
export interface Replay {
  readonly messages: readonly RelayMessage[]
  /** Timeline position that counts as 0 for the output. Null: that of the first message that it sends. */
  readonly base: number | null
}

/**
 * The media of one stream, across publishers. Messages that arrive in one turn of the event loop are encoded once,
 * together, and every output gets the same bytes.
 */
export class Source {
  readonly #timeline = new SourceTimeline()
  readonly #cache: GopCache
  readonly #outputs = new Set<Output>()
  #pending: TimedMessage[] = []
  #awaitsKeyframe = true

  constructor(limits: GopLimits) {
    this.#cache = new GopCache(limits)
  }

  /** Another publisher feeds the source from now on. Video before its first keyframe is dropped. */
  attach(): void {
    this.#flush()
    this.#timeline.restart()
    this.#cache.reset()
    this.#awaitsKeyframe = true
  }

  /**
   * The publisher on standby feeds the source from now on. Its current GOP is sent as if it had been relayed on time, so
   * that outputs need not wait for the next keyframe. Unchanged configurations are not sent again.
   */
  takeOver(headers: readonly MediaMessage[], gop: readonly MediaMessage[], now: number): void {
    this.#flush()
    const known = new Map(this.#cache.headers().map((header) => [header.kind, header]))
    const times = gop.map(({ timestamp }) => timestamp)
    this.#timeline.resume(times.length === 0 ? 0 : Math.max(...times) - times[0]!, now)
    this.#cache.reset()
    this.#awaitsKeyframe = true
    for (const header of headers) {
      const before = known.get(header.kind)
      if (before?.payload.equals(header.payload)) this.#cache.add(before)
      else this.push(header, now)
    }
    for (const message of gop) this.push(message, now)
  }

  /** Adds a message that arrived at `now`, monotonic milliseconds. */
  push(message: MediaMessage, now: number): void {
    if (message.kind === 'video' && !message.isSequenceHeader) {
      if (this.#awaitsKeyframe && !message.isKeyframe) return
      this.#awaitsKeyframe = false
    }
    this.#pending.push(this.#timeline.place(message, now))
    if (this.#pending.length === 1) queueMicrotask(() => this.#flush())
  }

  add(output: Output): void {
    this.#outputs.add(output)
  }

  remove(output: Output): void {
    this.#outputs.delete(output)
  }

  /**
   * Configurations and the current GOP, for an output that accepts `maxBytes` at once and may start `maxMs` behind the
   * live edge. A GOP that is larger or longer is left out, and the output starts with the next keyframe.
   */
  replay(maxBytes: number, maxMs = Infinity): Replay {
    const cached = this.#cache.bytes <= maxBytes ? this.#cache.gop() : []
    const isLate = this.#timeline.position - earliestOf(cached) > maxMs
    const gop = isLate ? [] : cached
    const base = gop.length === 0 ? this.#timeline.position : earliestOf(gop)
    const headers = this.#cache.headers().map((header) => ({ ...header, timestamp: base, previousTimestamp: -1 }))
    const messages = [...headers, ...gop]
    return { messages, base: messages.length === 0 ? null : base }
  }

  #flush(): void {
    if (this.#pending.length === 0) return
    const batch = encodeBatch(this.#pending)
    this.#pending = []
    for (const message of batch.messages) this.#cache.add(message)
    for (const output of this.#outputs) output.write(batch)
  }
}

function earliestOf(messages: readonly RelayMessage[]): number {
  return messages.reduce((least, message) => Math.min(least, message.timestamp), Infinity)
}
