import type { Writable } from 'node:stream'
import type { OutputQueueLimits } from '../relay/output-queue.ts'
import type { RelayMessage } from '../relay/relay-message.ts'
import type { Output, Source } from '../relay/source.ts'
import { FlvOutput } from './flv-output.ts'

export interface ViewerLimits {
  readonly queue: OutputQueueLimits
  /** Maximum number of concurrent viewers per stream. */
  readonly maxViewers: number
  /** A viewer that accepts no data for this many milliseconds is disconnected. */
  readonly stallMs: number
}

/** The viewers of a stream's preview. */
export class Viewers {
  readonly #source: Source
  readonly #limits: ViewerLimits
  readonly #onCount: (count: number) => void
  readonly #viewers = new Map<Writable, FlvOutput>()

  /** @param onCount called with the number of viewers when it changes */
  constructor(source: Source, limits: ViewerLimits, onCount: (count: number) => void) {
    this.#source = source
    this.#limits = limits
    this.#onCount = onCount
  }

  get count(): number {
    return this.#viewers.size
  }

  get isFull(): boolean {
    return this.#viewers.size >= this.#limits.maxViewers
  }

  /** Sends the preview to a writable until it closes. Ends the writable when the stream ends. */
  add(viewer: Writable): void {
    viewer.once('close', () => this.#remove(viewer))
    this.#viewers.set(viewer, new FlvOutput(this.#source, viewer, this.#limits.queue))
    this.#onCount(this.count)
  }

  /** The messages that a new viewer gets first: decoder configurations and the current GOP. */
  replay(): readonly RelayMessage[] {
    return this.#source.replay(this.#limits.queue.maxBytes).messages
  }

  /** Adds an output that several viewers share, such as an audio encoder. It gets the messages from now on. */
  attach(output: Output): void {
    this.#source.add(output)
  }

  detach(output: Output): void {
    this.#source.remove(output)
  }

  tick(now: number): void {
    for (const [viewer, { blockedSince }] of this.#viewers) {
      if (blockedSince !== null && now - blockedSince >= this.#limits.stallMs) viewer.destroy()
    }
  }

  /** Ends all viewers. */
  close(): void {
    for (const viewer of this.#viewers.keys()) {
      this.#remove(viewer)
      viewer.end()
    }
  }

  #remove(viewer: Writable): void {
    const output = this.#viewers.get(viewer)
    if (output === undefined) return
    this.#viewers.delete(viewer)
    output.close()
    this.#onCount(this.count)
  }
}
