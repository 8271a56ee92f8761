import type { Registry } from 'prom-client'
import type { StreamStatus } from '../../media/types.ts'
import { watch } from '../http/metrics.ts'
import { watchFeatures } from './media-feature-metrics.ts'
import { counter, gauge, type Labels, type Sample } from './metric-samples.ts'
import { systemClock } from '../core/clock.ts'
import { loadOf, type MediaNodeEntry } from '../domains/live/media-nodes/index.ts'

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
  const outputs = () => streams().flatMap((stream) => stream.destinations.map((one) => ({ stream, one })))
  watch(metrics, 'crier_media_up', '1 while the media process responds', () => (status() ? 1 : 0))
  gauge(metrics, 'crier_media_heartbeat_age_seconds', 'Time since the last response of the media process', [], () => {
    const lastSeenAt = last()?.lastSeenAt
    return lastSeenAt == null ? [] : [[{}, Math.max(0, (systemClock.now() - Date.parse(lastSeenAt)) / 1_000)]]
  })
  watch(metrics, 'crier_media_connections', 'RTMP connections', () => status()?.connections ?? 0)
  watch(metrics, 'crier_media_ingests', 'Streams with an ingest', () => ingestsOf(streams()).length)
  watch(metrics, 'crier_media_ingest_bytes_per_second', 'Incoming media', () =>
    ingestsOf(streams()).reduce((sum, { ingest }) => sum + ingest.bitrate / 8, 0),
  )
  watch(metrics, 'crier_media_output_bytes_per_second', 'Outgoing media', () =>
    outputs().reduce((sum, { one }) => sum + one.bitrate / 8, 0),
  )
  gauge(metrics, 'crier_media_destinations', 'Destinations by state', ['state'], () => {
    const counts = new Map<string, number>()
    for (const { one } of outputs()) counts.set(one.state, (counts.get(one.state) ?? 0) + 1)
    return [...counts].map(([state, count]) => [{ state }, count])
  })
  watchRoom(metrics, node)
  watchIngests(metrics, streams)
  watchDestinations(metrics, streams)
  watchFeatures(metrics, status)
}

/** The figures by which publishers are assigned to media nodes. */
function watchRoom(metrics: Registry, node: () => MediaNodeEntry | undefined): void {
  const of = (read: (entry: MediaNodeEntry) => number) => () => {
    const entry = node()
    return entry?.status ? [[{}, read(entry)] as const] : []
  }
  gauge(
    metrics,
    'crier_media_load_ratio',
    'Load of the media node; at 1 or more it gets no further streams',
    [],
    of(loadOf),
  )
  gauge(
    metrics,
    'crier_media_streams_limit',
    'Limit of ingests',
    [],
    of((entry) => entry.mostStreams),
  )
  gauge(
    metrics,
    'crier_media_cpu_ratio',
    'CPU cores used by the media process',
    [],
    of(({ status }) => status?.cpu ?? 0),
  )
}

function watchIngests(metrics: Registry, streams: () => readonly StreamStatus[]): void {
  const labels = ['stream', 'source']
  const each = (read: (ingest: Ingest['ingest']) => number | null) => () =>
    ingestsOf(streams()).flatMap(({ ingest, streamId }): Sample[] => {
      const value = read(ingest)
      return value === null ? [] : [[{ stream: streamId, source: ingest.source }, value]]
    })
  const of = (name: string) => `crier_ingest_${name}`
  gauge(
    metrics,
    of('bytes_per_second'),
    'Incoming media of a stream',
    labels,
    each(({ bitrate }) => bitrate / 8),
  )
  gauge(
    metrics,
    of('frames_per_second'),
    'Incoming frames of a stream',
    labels,
    each(({ fps }) => fps),
  )
  gauge(
    metrics,
    of('keyframe_interval_seconds'),
    'Time between keyframes',
    labels,
    each((one) => one.keyframeIntervalSeconds),
  )
  gauge(
    metrics,
    of('uptime_seconds'),
    'Time since the publisher connected',
    labels,
    each(({ uptimeSeconds }) => uptimeSeconds),
  )
  counter(
    metrics,
    of('bytes_total'),
    'Bytes received from the publisher',
    labels,
    each(({ bytesReceived }) => bytesReceived),
  )
  gauge(metrics, of('standby'), '1 while a second publisher is on standby', ['stream'], () =>
    ingestsOf(streams()).map(({ standby, streamId }) => [{ stream: streamId }, standby === null ? 0 : 1]),
  )
  gauge(metrics, of('warnings'), 'Warnings of an ingest by code', ['stream', 'code'], () =>
    ingestsOf(streams()).flatMap(({ ingest, streamId }) => {
      const codes = new Set(ingest.warnings.map(({ code }) => code))
      return [...codes].map((code): Sample => [
        { stream: streamId, code },
        ingest.warnings.filter((warning) => warning.code === code).length,
      ])
    }),
  )
}

function watchDestinations(metrics: Registry, streams: () => readonly StreamStatus[]): void {
  const labels = ['stream', 'destination']
  const each = (read: (one: StreamStatus['destinations'][number]) => readonly (readonly [Labels, number])[]) => () =>
    streams().flatMap(({ destinations, streamId }) =>
      destinations.flatMap((one) =>
        read(one).map(([more, value]): Sample => [{ stream: streamId, destination: one.id, ...more }, value]),
      ),
    )
  const of = (name: string) => `crier_destination_${name}`
  gauge(
    metrics,
    of('state'),
    'The state of a destination: 1 for the current state',
    [...labels, 'state'],
    each((one) => [[{ state: one.state }, 1]]),
  )
  gauge(
    metrics,
    of('bytes_per_second'),
    'Outgoing media of a destination',
    labels,
    each((one) => [[{}, one.bitrate / 8]]),
  )
  gauge(
    metrics,
    of('unacknowledged_bytes'),
    'Bytes sent that the destination has not confirmed',
    labels,
    each((one) => [[{}, one.bytesSent - one.bytesAcknowledged]]),
  )
  gauge(
    metrics,
    of('queued_seconds'),
    'Media queued because a destination does not keep up',
    labels,
    each((one) => [[{}, one.queuedMs / 1_000]]),
  )
  counter(
    metrics,
    of('bytes_total'),
    'Bytes sent to a destination',
    labels,
    each((one) => [[{}, one.bytesSent]]),
  )
  counter(
    metrics,
    of('dropped_total'),
    'Dropped messages by kind',
    [...labels, 'kind'],
    each((one) => [
      [{ kind: 'video' }, one.droppedVideo],
      [{ kind: 'audio' }, one.droppedAudio],
    ]),
  )
  counter(
    metrics,
    of('reconnects_total'),
    'Reconnections',
    labels,
    each((one) => [[{}, one.reconnects]]),
  )
  counter(
    metrics,
    of('live_seconds_total'),
    'Seconds with media transfer',
    labels,
    each((one) => [[{}, one.liveSeconds]]),
  )
  gauge(
    metrics,
    of('fault'),
    'Last error code of a destination that is not live',
    [...labels, 'code'],
    each((one) => (one.lastError === null || one.state === 'live' ? [] : [[{ code: one.lastError.code }, 1]])),
  )
}

type Ingest = StreamStatus & { readonly ingest: NonNullable<StreamStatus['ingest']> }

function ingestsOf(streams: readonly StreamStatus[]): Ingest[] {
  return streams.filter((stream): stream is Ingest => stream.ingest !== null)
}
