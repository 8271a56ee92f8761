import type { Writable } from 'node:stream'
import type { OutputQueueLimits } from '../relay/output-queue.ts'
import type { RelayMessage } from '../relay/relay-message.ts'
import type { Output, Source } from '../relay/source.ts'
import { FlvOutput } from './flv-output.ts'

export interface ViewerLimits {
  readonly queue: OutputQueueLimits
  /** At the same time, of one stream. */
  readonly maxViewers: number
  /** A viewer that has taken nothing for this long is gone, whatever its connection says. */
  readonly stallMs: number
}

/** Those who watch a stream before it is anywhere else. */
export class Viewers {
  readonly #source: Source
  readonly #limits: ViewerLimits
  readonly #onCount: (count: number) => void
  readonly #viewers = new Map<Writable, FlvOutput>()

  /** @param onCount called with how many there are, whenever that changes */
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

  /** Sends the stream to a viewer until the writable closes; it is ended when the stream ends. */
  add(viewer: Writable): void {
    viewer.once('close', () => this.#leave(viewer))
    this.#viewers.set(viewer, new FlvOutput(this.#source, viewer, this.#limits.queue))
    this.#onCount(this.count)
  }

  /** What the next viewer is sent first. */
  preview(): readonly RelayMessage[] {
    return this.#source.replay(this.#limits.queue.maxBytes).messages
  }

  /** Sends what comes from now on to something that viewers have in common. */
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

  /** Says goodbye to all of them. */
  close(): void {
    for (const viewer of this.#viewers.keys()) {
      this.#leave(viewer)
      viewer.end()
    }
  }

  #leave(viewer: Writable): void {
    const output = this.#viewers.get(viewer)
    if (output === undefined) return
    this.#viewers.delete(viewer)
    output.close()
    this.#onCount(this.count)
  }
}
