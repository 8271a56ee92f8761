import type { Writable } from 'node:stream'
import { OutputQueue, type OutputQueueLimits } from '../relay/output-queue.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import type { Output, Source } from '../relay/source.ts'
import { flvHeader, flvTag, kindsOf } from './flv-tag.ts'

const LATELY_MS = 1_000

/**
 * A source as an FLV stream into a writable: configurations and the group under way first, then what comes. A writable
 * that does not keep up loses video up to a keyframe, never a part of a group; neither the source nor any other output
 * waits for it.
 */
export class FlvOutput implements Output {
  readonly #source: Source
  readonly #writable: Writable
  readonly #queue: OutputQueue
  #base: number | null = null
  #blockedSince: number | null = null
  #started = false
  #fedAt = Number.NEGATIVE_INFINITY

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

  /** Since when, monotonic milliseconds, the writable has taken nothing; null while it does. */
  get blockedSince(): number | null {
    return this.#blockedSince
  }

  /** Whether the source has sent something in the last second. */
  isFed(now: number): boolean {
    return now - this.#fedAt < LATELY_MS
  }

  write(batch: RelayBatch): void {
    this.#fedAt = performance.now()
    for (const message of batch.messages) this.#queue.push(message, this.#writable.writableLength)
    if (this.#started) this.#pump()
    else this.#start(batch.messages)
  }

  /** Takes nothing more. The writable is its owner's to end. */
  close(): void {
    this.#source.remove(this)
    this.#queue.reset([])
  }

  /** The header says which kinds there are, so it waits for the first messages. */
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
      const taken = this.#writable.write(flvTag(message, Math.max(0, message.timestamp - this.#base)))
      if (!taken) this.#blockedSince = performance.now()
    }
  }
}
