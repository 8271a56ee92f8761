import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { MediaDirectory, MediaNodeEntry } from './media-directory.ts'

/** A stream that was given to a node counts there before its publisher comes, this long. */
const PROMISE_MS = MINUTE
/** More than can be promised in that time without somebody playing games. */
const MOST_PROMISED = 10_000

/** A node whose process uses this much of its core takes nothing more: what it has comes first. */
const BUSY = 0.85

/** How full a media node is: 1 and more is full. The number of its streams or the work that they make, whichever is more. */
export function loadOf({ ingests, mostStreams, status }: MediaNodeEntry, promised = 0): number {
  if (status === null) return Number.POSITIVE_INFINITY
  return Math.max((ingests + promised) / mostStreams, status.cpu / BUSY)
}

/**
 * Which media node a stream is to be sent to. A placement is where the publisher is pointed: every node takes every
 * publisher whose key is good, and the stream moves to wherever its publisher comes in.
 */
export class Placement {
  readonly #media: MediaDirectory
  readonly #clock: Clock
  readonly #fallbackUrl: string
  /** Streams that were given away and may not have come yet, oldest first. */
  readonly #promised = new Map<string, { readonly nodeId: string; readonly until: number }>()
  readonly #promisedTo = new Map<string, number>()

  /** @param fallbackUrl what publishers are told where a node announces no server of its own */
  constructor(media: MediaDirectory, clock: Clock, fallbackUrl: string) {
    this.#media = media
    this.#clock = clock
    this.#fallbackUrl = fallbackUrl
  }

  /**
   * The node for a stream: the one that it is on, as long as that is there; else the least loaded one with room; null
   * where there is none.
   */
  choose(streamId: string, present: string | null): string | null {
    if (present !== null && this.#media.isThere(present)) return present
    const best = this.best()
    if (best === undefined) return null
    this.#promise(streamId, best.nodeId)
    return best.nodeId
  }

  /** The publisher of a stream has come somewhere: what was promised for it counts there, or nowhere. */
  arrived(streamId: string): void {
    this.#forget(streamId)
  }

  /** The least loaded node with room, of all or of the others. */
  best(except?: string): MediaNodeEntry | undefined {
    this.#prune()
    let best: MediaNodeEntry | undefined
    let least = 1
    for (const node of this.#media.nodes()) {
      if (node.nodeId === except) continue
      const load = node.ok ? loadOf(node, this.#promisedTo.get(node.nodeId)) : Number.POSITIVE_INFINITY
      if (load >= least) continue
      best = node
      least = load
    }
    return best
  }

  /** The server to enter in an encoder: that of the stream's node, or of one with room where that is gone. */
  urlOf(nodeId: string | null): string {
    const own = nodeId === null ? undefined : this.#media.entry(nodeId)
    const node = own?.ok ? own : this.best()
    return node?.ingestUrl ?? this.#fallbackUrl
  }

  #promise(streamId: string, nodeId: string): void {
    this.#forget(streamId)
    if (this.#promised.size >= MOST_PROMISED) return
    this.#promised.set(streamId, { nodeId, until: this.#clock.monotonic() + PROMISE_MS })
    this.#promisedTo.set(nodeId, (this.#promisedTo.get(nodeId) ?? 0) + 1)
  }

  #prune(): void {
    const now = this.#clock.monotonic()
    for (const [streamId, { until }] of this.#promised) {
      if (until > now) return
      this.#forget(streamId)
    }
  }

  #forget(streamId: string): void {
    const promise = this.#promised.get(streamId)
    if (promise === undefined) return
    this.#promised.delete(streamId)
    const left = (this.#promisedTo.get(promise.nodeId) ?? 1) - 1
    if (left > 0) this.#promisedTo.set(promise.nodeId, left)
    else this.#promisedTo.delete(promise.nodeId)
  }
}
