import type { MediaNodeStatus, StreamStatus } from '../../../../media/types.ts'
import { SECOND, type Clock } from '../../../core/clock.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import { MediaUnavailable } from './errors.ts'

const CHANNEL = 'media-nodes'

/** A node that has said nothing for this long is taken for gone. */
export const SILENCE_MS = 5 * SECOND

/** What a media node says of itself, about once a second. */
export interface MediaReport {
  readonly nodeId: string
  /** Null while its media process is not there. */
  readonly status: MediaNodeStatus | null
  /** `host:port` where API nodes read previews; null where they cannot. */
  readonly previewAddress?: string | null
  /** The server under which publishers reach this node itself; absent where they come through one for all. */
  readonly ingestUrl?: string
  /** Publishers that it takes at most. */
  readonly mostStreams?: number
  /** The node shuts down and will say no more. */
  readonly gone?: true
}

export interface MediaNodeEntry {
  readonly nodeId: string
  readonly ok: boolean
  readonly status: MediaNodeStatus | null
  /** ISO 8601: when it last spoke. */
  readonly at: string
  /** ISO 8601: when its media process last answered; null when it has not. */
  readonly lastSeenAt: string | null
  readonly ingestUrl: string | undefined
  readonly mostStreams: number
  /** Streams that it takes in. */
  readonly ingests: number
}

interface Heard extends Omit<MediaNodeEntry, 'ok'> {
  /** Streams that it had when its media process last answered. */
  readonly lastStreams: ReadonlySet<string>
  readonly previewAddress: string | undefined
  /** Monotonic: it is taken for gone from then on. */
  readonly until: number
}

/** Of a node that does not say. */
const MOST_STREAMS = 100

/** The media nodes of the installation, here and elsewhere, as they last described themselves. */
export class MediaDirectory {
  readonly #clock: Clock
  readonly #coordination: Coordination
  readonly #heard = new Map<string, Heard>()
  readonly #end: () => void
  /** Until then a media node that is there may not have been heard. */
  #sureFrom: number

  constructor(clock: Clock, coordination: Coordination) {
    this.#clock = clock
    this.#coordination = coordination
    this.#sureFrom = clock.monotonic() + SILENCE_MS
    this.#end = coordination.subscribe(CHANNEL, (message) => this.#hear(message as MediaReport))
  }

  /** Called by the node itself. */
  announce(report: MediaReport): void {
    this.#coordination.publish(CHANNEL, report)
  }

  nodes(): MediaNodeEntry[] {
    const now = this.#clock.monotonic()
    return [...this.#heard.values()].map((heard) => entryOf(heard, now))
  }

  /** A node that spoke lately, or not so lately. */
  entry(nodeId: string): MediaNodeEntry | undefined {
    const heard = this.#heard.get(nodeId)
    return heard && entryOf(heard, this.#clock.monotonic())
  }

  /** Whether a node may still hold publishers: it spoke lately, up or not. */
  isThere(nodeId: string): boolean {
    const heard = this.#heard.get(nodeId)
    return heard !== undefined && this.#clock.monotonic() <= heard.until
  }

  /** Nodes that may still hold publishers: those that spoke lately, up or not. */
  present(): string[] {
    const now = this.#clock.monotonic()
    return [...this.#heard.values()].filter(({ until }) => now <= until).map(({ nodeId }) => nodeId)
  }

  /**
   * Whether a node's silence means that it is gone, and not that nobody is heard. To be asked once a second: what lay
   * between two questions is not known.
   */
  async isSure(): Promise<boolean> {
    const hears =
      this.#coordination.linked &&
      (await this.#coordination.ping().then(
        () => true,
        () => false,
      ))
    const now = this.#clock.monotonic()
    if (!hears) this.#sureFrom = now + SILENCE_MS
    return now >= this.#sureFrom
  }

  /** @throws AppError media_unavailable when no node can take a stream */
  require(): void {
    if (!this.nodes().some((node) => node.ok)) throw MediaUnavailable({ retryAfter: 2 })
  }

  /** The figures of a stream from the node that takes it in, or has it. */
  statusOf(streamId: string): { readonly status: StreamStatus; readonly at: string } | undefined {
    let found: { status: StreamStatus; at: string } | undefined
    for (const node of this.nodes()) {
      if (!node.ok) continue
      const status = node.status?.streams.find((stream) => stream.streamId === streamId)
      if (status && (found === undefined || status.ingest !== null)) found = { status, at: node.at }
    }
    return found
  }

  /** ISO 8601: when a node that had a stream last told how it is; null when none has lately. */
  lastSeenAt(streamId: string): string | null {
    const seen = [...this.#heard.values()].flatMap(({ lastSeenAt, lastStreams }) =>
      lastSeenAt !== null && lastStreams.has(streamId) ? [lastSeenAt] : [],
    )
    return seen.toSorted().at(-1) ?? null
  }

  /** Where previews of a node are read; undefined when it is not there, or gives none. */
  previewAddressOf(nodeId: string): string | undefined {
    return this.isThere(nodeId) ? this.#heard.get(nodeId)?.previewAddress : undefined
  }

  /** Where nodes are asked that take publishers by WHIP, but for one. */
  whipAddresses(except: string | undefined): string[] {
    return this.nodes().flatMap(({ nodeId, ok, status }) =>
      ok && status?.whip && nodeId !== except ? (this.previewAddressOf(nodeId) ?? []) : [],
    )
  }

  close(): void {
    this.#end()
  }

  #hear(report: MediaReport): void {
    if (report.gone) {
      this.#heard.delete(report.nodeId)
      return
    }
    const now = this.#clock.monotonic()
    const { ingestUrl, mostStreams = MOST_STREAMS, nodeId, previewAddress, status } = report
    const at = new Date(this.#clock.now()).toISOString()
    const before = this.#heard.get(nodeId)
    this.#heard.set(nodeId, {
      nodeId,
      status,
      at,
      lastSeenAt: status === null ? (before?.lastSeenAt ?? null) : at,
      lastStreams:
        status === null ? (before?.lastStreams ?? new Set()) : new Set(status.streams.map(({ streamId }) => streamId)),
      ingestUrl,
      mostStreams,
      ingests: (status?.streams ?? []).filter((stream) => stream.ingest !== null).length,
      previewAddress: previewAddress ?? undefined,
      until: now + SILENCE_MS,
    })
    for (const [nodeId, { until }] of this.#heard) {
      if (now - until > FORGET_MS) this.#heard.delete(nodeId)
    }
  }
}

function entryOf(heard: Heard, now: number): MediaNodeEntry {
  const { at, ingests, ingestUrl, lastSeenAt, mostStreams, nodeId, status, until } = heard
  return { nodeId, status, ok: status !== null && now <= until, at, lastSeenAt, ingestUrl, mostStreams, ingests }
}

/** A node that was lost is shown as such this long. */
const FORGET_MS = 60 * SECOND
