import type { Writable } from 'node:stream'
import { OutputQueue, type OutputQueueLimits } from '../relay/output-queue.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import type { Output, Source } from '../relay/source.ts'
import { flvHeader, flvTag, kindsOf } from './flv-tag.ts'

/** A source without messages for this long counts as not sending. */
const SENDING_MS = 1_000

/**
 * Writes a source to a writable as an FLV stream: first the decoder configurations and the current GOP, then
 * all messages that follow. If the writable does not keep up, video is dropped up to a keyframe, so no group is sent in
 * part. The source and other outputs never wait for it.
 */
export class FlvOutput implements Output {
  readonly #source: Source
  readonly #writable: Writable
  readonly #queue: OutputQueue
  #base: number | null = null
  #blockedSince: number | null = null
  #started = false
  #lastBatchAt = Number.NEGATIVE_INFINITY

  constructor(source: Source, writable: Writable, limits: OutputQueueLimits) {
    this.#source = source
    this.#writable = writable
    this.#queue = new OutputQueue(limits)
    writable.on('drain', () => {
      this.#blockedSince = null
      this.#pump()
    })
    const { messages, base } = source.replay(limits.maxBytes)
    this.#base = base
    this.#queue.reset(messages)
    source.add(this)
    if (messages.length > 0) this.#start(messages)
  }

  get droppedVideo(): number {
    return this.#queue.droppedVideo
  }

  /** Monotonic milliseconds since which the writable has been full; null while it accepts data. */
  get blockedSince(): number | null {
    return this.#blockedSince
  }

  /** Whether the source has sent a message in the last second. */
  isFed(now: number): boolean {
    return now - this.#lastBatchAt < SENDING_MS
  }

  write(batch: RelayBatch): void {
    this.#lastBatchAt = performance.now()
    for (const message of batch.messages) this.#queue.push(message, this.#writable.writableLength)
    if (this.#started) this.#pump()
    else this.#start(batch.messages)
  }

  /** Detaches from the source. Does not end the writable. */
  close(): void {
    this.#source.remove(this)
    this.#queue.reset([])
  }

  /** Writes the FLV header. It flags audio and video, so it is written only when the first messages are known. */
  #start(messages: readonly RelayMessage[]): void {
    this.#started = true
    this.#writable.write(flvHeader(kindsOf(messages)))
    this.#pump()
  }

  #pump(): void {
    while (this.#blockedSince === null && !this.#writable.destroyed) {
      const message = this.#queue.shift()
      if (message === undefined) break
      this.#base ??= message.timestamp
      const hasRoom = this.#writable.write(flvTag(message, Math.max(0, message.timestamp - this.#base)))
      if (!hasRoom) this.#blockedSince = performance.now()
    }
  }
}
