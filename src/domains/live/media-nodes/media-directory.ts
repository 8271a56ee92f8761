import type { MediaNodeStatus, StreamStatus } from '../../../../media/types.ts'
import { SECOND, type Clock } from '../../../core/clock.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import { MediaUnavailable } from './errors.ts'

const CHANNEL = 'media-nodes'

/** A node that was silent for this long is treated as lost. */
export const SILENCE_MS = 5 * SECOND

/** What a media node reports about itself, about once a second. */
export interface MediaReport {
  readonly nodeId: string
  /** Null while its media process is not running. */
  readonly status: MediaNodeStatus | null
  /** `host:port` from which API nodes read previews. Null where they cannot. */
  readonly previewAddress?: string | null
  /** The server at which publishers reach this node. Absent where all nodes share one. */
  readonly ingestUrl?: string
  /** Maximum number of publishers. */
  readonly mostStreams?: number
  /** The node is shutting down. This is its last report. */
  readonly gone?: true
}

export interface MediaNodeEntry {
  readonly nodeId: string
  readonly ok: boolean
  readonly status: MediaNodeStatus | null
  /** ISO 8601: when it last reported. */
  readonly at: string
  /** ISO 8601: when its media process last answered. Null if it never did. */
  readonly lastSeenAt: string | null
  readonly ingestUrl: string | undefined
  readonly mostStreams: number
  /** Number of streams that have a publisher there. */
  readonly ingests: number
}

interface LatestReport extends Omit<MediaNodeEntry, 'ok'> {
  /** Its streams when its media process last answered. */
  readonly lastStreams: ReadonlySet<string>
  readonly previewAddress: string | undefined
  /** Monotonic time from which it is treated as lost. */
  readonly until: number
}

/** Default for nodes that do not report it. */
const MAX_STREAMS = 100

/** All media nodes of the installation, by their last reports. */
export class MediaDirectory {
  readonly #clock: Clock
  readonly #coordination: Coordination
  readonly #reports = new Map<string, LatestReport>()
  readonly #end: () => void
  /** Until this time, present media nodes may not have reported yet. */
  #sureFrom: number

  constructor(clock: Clock, coordination: Coordination) {
    this.#clock = clock
    this.#coordination = coordination
    this.#sureFrom = clock.monotonic() + SILENCE_MS
    this.#end = coordination.subscribe(CHANNEL, (message) => this.#onReport(message as MediaReport))
  }

  /** Publishes a report. Only the node itself calls it. */
  announce(report: MediaReport): void {
    this.#coordination.publish(CHANNEL, report)
  }

  nodes(): MediaNodeEntry[] {
    const now = this.#clock.monotonic()
    return [...this.#reports.values()].map((report) => entryOf(report, now))
  }

  /** A node that has reported in the last minute. */
  entry(nodeId: string): MediaNodeEntry | undefined {
    const report = this.#reports.get(nodeId)
    return report && entryOf(report, this.#clock.monotonic())
  }

  /** Whether a node may still have publishers: it reported recently, whatever its status. */
  isThere(nodeId: string): boolean {
    const report = this.#reports.get(nodeId)
    return report !== undefined && this.#clock.monotonic() <= report.until
  }

  /** Nodes that may still have publishers: those that reported recently, whatever their status. */
  present(): string[] {
    const now = this.#clock.monotonic()
    return [...this.#reports.values()].filter(({ until }) => now <= until).map(({ nodeId }) => nodeId)
  }

  /**
   * Whether a silent node is lost. False while this node itself may receive no reports. Call it once a second,
   * because it only knows the times at which it was called.
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

  /** The figures of a stream, preferably from the node that has its publisher. */
  statusOf(streamId: string): { readonly status: StreamStatus; readonly at: string } | undefined {
    let found: { status: StreamStatus; at: string } | undefined
    for (const node of this.nodes()) {
      if (!node.ok) continue
      const status = node.status?.streams.find((stream) => stream.streamId === streamId)
      if (status && (found === undefined || status.ingest !== null)) found = { status, at: node.at }
    }
    return found
  }

  /** ISO 8601: the last report about a stream. Null when there was none recently. */
  lastSeenAt(streamId: string): string | null {
    const seen = [...this.#reports.values()].flatMap(({ lastSeenAt, lastStreams }) =>
      lastSeenAt !== null && lastStreams.has(streamId) ? [lastSeenAt] : [],
    )
    return seen.toSorted().at(-1) ?? null
  }

  /** Where previews of a node are read. Undefined when the node is not present or has none. */
  previewAddressOf(nodeId: string): string | undefined {
    return this.isThere(nodeId) ? this.#reports.get(nodeId)?.previewAddress : undefined
  }

  /** Addresses of the nodes that accept WHIP publishers, except one. */
  whipAddresses(except: string | undefined): string[] {
    return this.nodes().flatMap(({ nodeId, ok, status }) =>
      ok && status?.whip && nodeId !== except ? (this.previewAddressOf(nodeId) ?? []) : [],
    )
  }

  close(): void {
    this.#end()
  }

  #onReport(report: MediaReport): void {
    if (report.gone) {
      this.#reports.delete(report.nodeId)
      return
    }
    const now = this.#clock.monotonic()
    const { ingestUrl, mostStreams = MAX_STREAMS, nodeId, previewAddress, status } = report
    const at = new Date(this.#clock.now()).toISOString()
    const before = this.#reports.get(nodeId)
    this.#reports.set(nodeId, {
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
    for (const [nodeId, { until }] of this.#reports) {
      if (now - until > FORGET_MS) this.#reports.delete(nodeId)
    }
  }
}

function entryOf(report: LatestReport, now: number): MediaNodeEntry {
  const { at, ingests, ingestUrl, lastSeenAt, mostStreams, nodeId, status, until } = report
  return { nodeId, status, ok: status !== null && now <= until, at, lastSeenAt, ingestUrl, mostStreams, ingests }
}

/** How long a lost node is listed. */
const FORGET_MS = 60 * SECOND
