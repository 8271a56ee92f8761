import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { MediaDirectory, MediaNodeEntry } from './media-directory.ts'

/** How long a stream counts for its node before its publisher connects. */
const PROMISE_MS = MINUTE
/** Limit of pending placements. Only abuse reaches it. */
const MOST_PROMISED = 10_000

/** A node whose process uses this share of a core gets no more streams. */
const BUSY = 0.85

/** The load of a media node, by its number of streams or its CPU, whichever is higher. It is full at 1. */
export function loadOf({ ingests, mostStreams, status }: MediaNodeEntry, promised = 0): number {
  if (status === null) return Number.POSITIVE_INFINITY
  return Math.max((ingests + promised) / mostStreams, status.cpu / BUSY)
}

/**
 * Chooses the media node that publishers of a stream are sent to. It is only a recommendation: every node accepts every
 * publisher with a valid key, and the stream moves to the node of its publisher.
 */
export class Placement {
  readonly #media: MediaDirectory
  readonly #clock: Clock
  readonly #fallbackUrl: string
  /** Streams that were placed and whose publishers have not connected yet, oldest first. */
  readonly #promised = new Map<string, { readonly nodeId: string; readonly until: number }>()
  readonly #promisedTo = new Map<string, number>()

  /** @param fallbackUrl the server for publishers where a node reports none */
  constructor(media: MediaDirectory, clock: Clock, fallbackUrl: string) {
    this.#media = media
    this.#clock = clock
    this.#fallbackUrl = fallbackUrl
  }

  /**
   * The node for a stream: its current node if that is present, else the least loaded one with room. Null if there is
   * none.
   */
  choose(streamId: string, present: string | null): string | null {
    if (present !== null && this.#media.isThere(present)) return present
    const best = this.best()
    if (best === undefined) return null
    this.#promise(streamId, best.nodeId)
    return best.nodeId
  }

  /** The publisher of a stream has connected to some node, so its placement is no longer pending. */
  arrived(streamId: string): void {
    this.#forget(streamId)
  }

  /** The least loaded node with room. @param except a node to leave out */
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

  /** The server to enter in an encoder: that of the stream's node, or of a node with room if that one is gone. */
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
