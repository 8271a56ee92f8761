import { Counter, type Registry } from 'prom-client'
import type { MediaEvent, MediaNodeStatus, ReceptionStatus, RenderingStatus, StreamStatus } from '../../media/types.ts'
import { family, tally, type Labels, type MetricRow } from './metric-samples.ts'

const SLATE_STATES = ['waiting', 'preparing', 'ready', 'shown', 'unavailable'] as const

/** Metrics of media features besides the relay: previews, renderings, WHIP, playout, recordings and slates. */
export function watchFeatures(metrics: Registry, status: () => MediaNodeStatus | undefined): void {
  const node = () => {
    const last = status()
    return last === undefined ? [] : [[{}, last] as const]
  }
  const streams = () => status()?.streams ?? []
  /** Streams that have a part, by the stream's id. */
  const having = <T>(part: (stream: StreamStatus) => T | null) =>
    streams().flatMap((stream) => {
      const found = part(stream)
      return found === null ? [] : [[{ stream: stream.streamId }, found] as const]
    })
  const always = () => [[{}, streams()] as const]
  family(metrics, { prefix: 'crier_', labels: [], sources: always }, TOTALS)
  const previewed = (stream: StreamStatus) => (stream.ingest === null && stream.viewers === 0 ? null : stream)
  family(metrics, { prefix: 'crier_', labels: ['stream'], sources: () => having(previewed) }, PREVIEW)
  family(metrics, { prefix: 'crier_', labels: ['stream'], sources: () => having(({ slate }) => slate) }, SLATE)
  const playouts = () => having(({ playout }) => playout)
  family(metrics, { prefix: 'crier_broadcast_', labels: ['stream'], sources: playouts }, PLAYOUT)
  const recordings = () => having(({ recording }) => recording)
  family(metrics, { prefix: 'crier_recording_', labels: ['stream'], sources: recordings }, RECORDING)
  family(metrics, { prefix: 'crier_renderings_', labels: [], sources: node }, ENCODERS)
  const renderings = () =>
    streams().flatMap(({ destinations, streamId }) =>
      destinations.flatMap(({ id, rendering }): (readonly [Labels, RenderingStatus])[] =>
        rendering === null ? [] : [[{ stream: streamId, destination: id }, rendering]],
      ),
    )
  family(metrics, { prefix: 'crier_rendering_', labels: ['stream', 'destination'], sources: renderings }, RENDERING)
  const sessions = () => status()?.whip?.sessions ?? []
  const connections = () => [[{}, sessions().map(({ connected }) => (connected ? 'connected' : 'connecting'))] as const]
  family(metrics, { prefix: 'crier_', labels: [], sources: connections }, WHIP_SESSIONS)
  const tracks = () =>
    sessions().flatMap((session) =>
      session.tracks.map((track) => [{ stream: session.streamId, kind: track.kind }, track] as const),
    )
  family(metrics, { prefix: 'crier_whip_', labels: ['stream', 'kind'], sources: tracks }, WHIP_TRACK)
}

const present = <T>(value: T | null): readonly T[] => (value === null ? [] : [value])

const TOTALS: readonly MetricRow<readonly StreamStatus[]>[] = [
  [
    'gauge',
    'slates',
    'Slates by state',
    (streams) =>
      tally(
        'state',
        streams.flatMap(({ slate }) => present(slate).map(({ state }) => state)),
        SLATE_STATES,
      ),
    'state',
  ],
  [
    'gauge',
    'broadcasts',
    'Playouts by state',
    (streams) =>
      tally(
        'state',
        streams.flatMap(({ playout }) => present(playout).map(({ paused }) => (paused ? 'paused' : 'playing'))),
        ['playing', 'paused'],
      ),
    'state',
  ],
  [
    'gauge',
    'recordings',
    'Streams being recorded',
    (streams) => streams.filter(({ recording }) => recording !== null).length,
  ],
]

const PREVIEW: readonly MetricRow<StreamStatus>[] = [
  ['gauge', 'preview_viewers', 'Viewers of a stream’s preview', ({ viewers }) => viewers],
]

const SLATE: readonly MetricRow<NonNullable<StreamStatus['slate']>>[] = [
  [
    'gauge',
    'slate_state',
    'The state of a stream’s slate: 1 for the current state',
    ({ state }) => [[{ state }, 1]],
    'state',
  ],
]

const PLAYOUT: readonly MetricRow<NonNullable<StreamStatus['playout']>>[] = [
  ['gauge', 'item', 'Index of the current playout file in its list, from 0', ({ item }) => item],
  ['gauge', 'position_seconds', 'Position in the current playout file', ({ ms }) => ms / 1_000],
]

const RECORDING: readonly MetricRow<NonNullable<StreamStatus['recording']>>[] = [
  ['gauge', 'bytes', 'Size of the current recording file', ({ bytes }) => bytes],
  ['gauge', 'seconds', 'Duration of the current recording file', ({ seconds }) => seconds],
]

const ENCODERS: readonly MetricRow<MediaNodeStatus>[] = [
  ['gauge', 'running', 'Running encoders of renderings', ({ renderings }) => renderings.running],
  ['gauge', 'limit', 'Limit of concurrent encoders', ({ renderings }) => renderings.max],
]

const RENDERING: readonly MetricRow<RenderingStatus>[] = [
  [
    'gauge',
    'state',
    'The state of a destination’s rendering: 1 for the current state. Destinations with equal settings share a rendering',
    ({ state }) => [[{ state }, 1]],
    'state',
  ],
  [
    'gauge',
    'speed_ratio',
    'Seconds of media encoded per second; below 1 the encoder does not keep up',
    ({ speed }) => speed,
  ],
  ['counter', 'restarts_total', 'Restarts of the encoder', ({ restarts }) => restarts],
  [
    'counter',
    'dropped_total',
    'Frames dropped because the encoder does not keep up',
    ({ droppedVideo }) => droppedVideo,
  ],
]

const WHIP_SESSIONS: readonly MetricRow<readonly string[]>[] = [
  [
    'gauge',
    'whip_sessions',
    'WHIP clients by state',
    (states) => tally('state', states, ['connected', 'connecting']),
    'state',
  ],
]

const WHIP_TRACK: readonly MetricRow<ReceptionStatus>[] = [
  ['counter', 'packets_lost_total', 'Packets that were lost or arrived too late', ({ lost }) => lost],
  ['counter', 'packets_recovered_total', 'Packets recovered by retransmission', ({ recovered }) => recovered],
  ['counter', 'packets_requested_total', 'Retransmission requests for packets (NACK)', ({ requested }) => requested],
  ['gauge', 'jitter_seconds', 'Interarrival jitter (RFC 3550, section 6.4.1)', ({ jitterMs }) => jitterMs / 1_000],
]

/** Counters of events that a media process reports once. */
export function countMediaEvents(metrics: Registry): (event: MediaEvent) => void {
  const registers = [metrics]
  const files = new Counter({
    name: 'crier_recording_files_total',
    help: 'Recording files by event: begun, completed (whole) or ended early (failed)',
    labelNames: ['event'],
    registers,
  })
  const refused = new Counter({
    name: 'crier_recordings_refused_total',
    help: 'Recordings that could not be made from the ingest',
    registers,
  })
  const skipped = new Counter({
    name: 'crier_broadcast_skipped_total',
    help: 'Playout files that were skipped because they could not be played',
    registers,
  })
  const lost = new Counter({
    name: 'crier_whip_sessions_lost_total',
    help: 'WebRTC publishers and viewers that were disconnected because the WHIP process ended',
    labelNames: ['kind'],
    registers,
  })
  for (const kind of ['publisher', 'viewer']) lost.inc({ kind }, 0)
  for (const event of ['begun', 'whole', 'failed']) files.inc({ event }, 0)
  return (event) => {
    if (event.type === 'recording.started') files.inc({ event: 'begun' })
    else if (event.type === 'recording.ended') files.inc({ event: event.failure === null ? 'whole' : 'failed' })
    else if (event.type === 'recording.refused') refused.inc()
    else if (event.type === 'playout.skipped') skipped.inc()
    else if (event.type === 'webrtc.lost') {
      lost.inc({ kind: 'publisher' }, event.publishers)
      lost.inc({ kind: 'viewer' }, event.viewers)
    }
  }
}
