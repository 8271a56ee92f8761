import type { Registry } from 'prom-client'
import type { DestinationStatus, IngestStatus, MediaNodeStatus, StreamStatus } from '../../media/types.ts'
import { systemClock } from '../core/clock.ts'
import { loadOf, type MediaNodeEntry } from '../domains/live/media-nodes/index.ts'
import { watchFeatures } from './media-feature-metrics.ts'
import { family, tally, type MetricRow } from './metric-samples.ts'

/**
 * Metrics of this node's media process, from its last report: totals, every ingest and destination, and other features
 * of a stream. Streams are labelled by id, never by key or path.
 */
export function watchMedia(metrics: Registry, last: () => MediaNodeEntry | undefined): void {
  const node = () => {
    const entry = last()
    return entry?.ok ? entry : undefined
  }
  const status = () => node()?.status ?? undefined
  const streams = () => status()?.streams ?? []
  family(metrics, { prefix: 'crier_media_', labels: [], sources: () => [[{}, status()]] }, TOTALS)
  family(metrics, { prefix: 'crier_media_', labels: [], sources: () => [[{}, last()]] }, HEARTBEAT)
  const reporting = () => {
    const entry = node()
    return entry?.status ? [[{}, entry] as const] : []
  }
  family(metrics, { prefix: 'crier_media_', labels: [], sources: reporting }, CAPACITY)
  const ingests = () =>
    ingestsOf(streams()).map((stream) => [{ stream: stream.streamId, source: stream.ingest.source }, stream] as const)
  family(metrics, { prefix: 'crier_ingest_', labels: ['stream', 'source'], sources: ingests }, INGEST)
  const published = () => ingestsOf(streams()).map((stream) => [{ stream: stream.streamId }, stream] as const)
  family(metrics, { prefix: 'crier_ingest_', labels: ['stream'], sources: published }, INGEST_OF_STREAM)
  const destinations = () =>
    streams().flatMap(({ destinations: all, streamId }) =>
      all.map((one) => [{ stream: streamId, destination: one.id }, one] as const),
    )
  family(
    metrics,
    { prefix: 'crier_destination_', labels: ['stream', 'destination'], sources: destinations },
    DESTINATION,
  )
  watchFeatures(metrics, status)
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const destinationsOf = (status: MediaNodeStatus | undefined) =>
  status?.streams.flatMap(({ destinations }) => destinations) ?? []

const TOTALS: readonly MetricRow<MediaNodeStatus | undefined>[] = [
  ['gauge', 'up', '1 while the media process responds', (status) => (status ? 1 : 0)],
  ['gauge', 'connections', 'RTMP connections', (status) => status?.connections ?? 0],
  ['gauge', 'ingests', 'Streams with an ingest', (status) => ingestsOf(status?.streams ?? []).length],
  [
    'gauge',
    'ingest_bytes_per_second',
    'Incoming media',
    (status) => sum(ingestsOf(status?.streams ?? []).map(({ ingest }) => ingest.bitrate / 8)),
  ],
  [
    'gauge',
    'output_bytes_per_second',
    'Outgoing media',
    (status) => sum(destinationsOf(status).map(({ bitrate }) => bitrate / 8)),
  ],
  [
    'gauge',
    'destinations',
    'Destinations by state',
    (status) =>
      tally(
        'state',
        destinationsOf(status).map(({ state }) => state),
      ),
    'state',
  ],
]

const HEARTBEAT: readonly MetricRow<MediaNodeEntry | undefined>[] = [
  [
    'gauge',
    'heartbeat_age_seconds',
    'Time since the last response of the media process',
    (entry) =>
      entry?.lastSeenAt == null ? null : Math.max(0, (systemClock.now() - Date.parse(entry.lastSeenAt)) / 1_000),
  ],
]

/** The figures by which publishers are assigned to media nodes. */
const CAPACITY: readonly MetricRow<MediaNodeEntry>[] = [
  ['gauge', 'load_ratio', 'Load of the media node; at 1 or more it gets no further streams', loadOf],
  ['gauge', 'streams_limit', 'Limit of ingests', ({ mostStreams }) => mostStreams],
  ['gauge', 'cpu_ratio', 'CPU cores used by the media process', ({ status }) => status?.cpu ?? 0],
]

const INGEST: readonly MetricRow<Ingest>[] = [
  ['gauge', 'bytes_per_second', 'Incoming media of a stream', ({ ingest }) => ingest.bitrate / 8],
  ['gauge', 'frames_per_second', 'Incoming frames of a stream', ({ ingest }) => ingest.fps],
  ['gauge', 'keyframe_interval_seconds', 'Time between keyframes', ({ ingest }) => ingest.keyframeIntervalSeconds],
  ['gauge', 'uptime_seconds', 'Time since the publisher connected', ({ ingest }) => ingest.uptimeSeconds],
  ['counter', 'bytes_total', 'Bytes received from the publisher', ({ ingest }) => ingest.bytesReceived],
]

const INGEST_OF_STREAM: readonly MetricRow<Ingest>[] = [
  ['gauge', 'standby', '1 while a second publisher is on standby', ({ standby }) => (standby === null ? 0 : 1)],
  [
    'gauge',
    'warnings',
    'Warnings of an ingest by code',
    ({ ingest }) =>
      tally(
        'code',
        ingest.warnings.map(({ code }) => code),
      ),
    'code',
  ],
]

const DESTINATION: readonly MetricRow<DestinationStatus>[] = [
  ['gauge', 'state', 'The state of a destination: 1 for the current state', ({ state }) => [[{ state }, 1]], 'state'],
  ['gauge', 'bytes_per_second', 'Outgoing media of a destination', ({ bitrate }) => bitrate / 8],
  [
    'gauge',
    'unacknowledged_bytes',
    'Bytes sent that the destination has not confirmed',
    (one) => one.bytesSent - one.bytesAcknowledged,
  ],
  ['gauge', 'queued_seconds', 'Media queued because a destination does not keep up', (one) => one.queuedMs / 1_000],
  ['counter', 'bytes_total', 'Bytes sent to a destination', ({ bytesSent }) => bytesSent],
  [
    'counter',
    'dropped_total',
    'Dropped messages by kind',
    ({ droppedAudio, droppedVideo }) => [
      [{ kind: 'video' }, droppedVideo],
      [{ kind: 'audio' }, droppedAudio],
    ],
    'kind',
  ],
  ['counter', 'reconnects_total', 'Reconnections', ({ reconnects }) => reconnects],
  ['counter', 'live_seconds_total', 'Seconds with media transfer', ({ liveSeconds }) => liveSeconds],
  [
    'gauge',
    'fault',
    'Last error code of a destination that is not live',
    ({ lastError, state }) => (lastError === null || state === 'live' ? null : [[{ code: lastError.code }, 1]]),
    'code',
  ],
]

type Ingest = StreamStatus & { readonly ingest: IngestStatus }

function ingestsOf(streams: readonly StreamStatus[]): Ingest[] {
  return streams.filter((stream): stream is Ingest => stream.ingest !== null)
}
