import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { MediaDirectory, MediaNodeEntry } from './media-directory.ts'

/** How long a stream counts for its node before its publisher connects. */
const PENDING_MS = MINUTE
/** Limit of pending placements. Only abuse reaches it. */
const MAX_PENDING = 10_000

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
  readonly #pending = new Map<string, { readonly nodeId: string; readonly until: number }>()
  readonly #pendingByNode = new Map<string, number>()

  /** @param fallbackUrl the server for publishers where a node reports none */
  constructor(media: MediaDirectory, clock: Clock, fallbackUrl: string) {
    this.#media = media
    this.#clock = clock
    this.#fallbackUrl = fallbackUrl
  }

  /**
   * The node for a stream: its current node if that is present, else the least loaded one that is not full. Null if there is
   * none.
   */
  choose(streamId: string, present: string | null): string | null {
    if (present !== null && this.#media.isThere(present)) return present
    const best = this.best()
    if (best === undefined) return null
    this.#addPending(streamId, best.nodeId)
    return best.nodeId
  }

  /** The publisher of a stream has connected to some node, so its placement is no longer pending. */
  arrived(streamId: string): void {
    this.#forget(streamId)
  }

  /** The least loaded node that is not full. @param except a node to leave out */
  best(except?: string): MediaNodeEntry | undefined {
    this.#prune()
    let best: MediaNodeEntry | undefined
    let least = 1
    for (const node of this.#media.nodes()) {
      if (node.nodeId === except) continue
      const load = node.ok ? loadOf(node, this.#pendingByNode.get(node.nodeId)) : Number.POSITIVE_INFINITY
      if (load >= least) continue
      best = node
      least = load
    }
    return best
  }

  /** The server to enter in an encoder: that of the stream's node, or of another node if that one is gone. */
  urlOf(nodeId: string | null): string {
    const own = nodeId === null ? undefined : this.#media.entry(nodeId)
    const node = own?.ok ? own : this.best()
    return node?.ingestUrl ?? this.#fallbackUrl
  }

  #addPending(streamId: string, nodeId: string): void {
    this.#forget(streamId)
    if (this.#pending.size >= MAX_PENDING) return
    this.#pending.set(streamId, { nodeId, until: this.#clock.monotonic() + PENDING_MS })
    this.#pendingByNode.set(nodeId, (this.#pendingByNode.get(nodeId) ?? 0) + 1)
  }

  #prune(): void {
    const now = this.#clock.monotonic()
    for (const [streamId, { until }] of this.#pending) {
      if (until > now) return
      this.#forget(streamId)
    }
  }

  #forget(streamId: string): void {
    const pending = this.#pending.get(streamId)
    if (pending === undefined) return
    this.#pending.delete(streamId)
    const left = (this.#pendingByNode.get(pending.nodeId) ?? 1) - 1
    if (left > 0) this.#pendingByNode.set(pending.nodeId, left)
    else this.#pendingByNode.delete(pending.nodeId)
  }
}
