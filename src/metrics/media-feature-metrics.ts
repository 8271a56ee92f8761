import { Counter, type Registry } from 'prom-client'
import type { MediaEvent, MediaNodeStatus, ReceptionStatus, StreamStatus } from '../../media/types.ts'
import { counter, gauge, type Labels, type Sample } from './metric-samples.ts'

const SLATE_STATES = ['waiting', 'preparing', 'ready', 'shown', 'unavailable'] as const

type Streams = () => readonly StreamStatus[]
type Status = () => MediaNodeStatus | undefined

/** Metrics of media features besides the relay: previews, renderings, WHIP, playout, recordings and slates. */
export function watchFeatures(metrics: Registry, status: Status): void {
  const streams: Streams = () => status()?.streams ?? []
  gauge(metrics, 'crier_preview_viewers', 'Viewers of a stream’s preview', ['stream'], () =>
    streams().flatMap(({ ingest, streamId, viewers }) =>
      ingest === null && viewers === 0 ? [] : [[{ stream: streamId }, viewers]],
    ),
  )
  gauge(metrics, 'crier_slates', 'Slates by state', ['state'], () => {
    const states = streams().flatMap(({ slate }) => slate?.state ?? [])
    return SLATE_STATES.map((state): Sample => [{ state }, states.filter((one) => one === state).length])
  })
  watchRenderings(metrics, streams, status)
  watchWhip(metrics, status)
  watchBroadcasts(metrics, streams)
  watchRecordings(metrics, streams)
  gauge(
    metrics,
    'crier_slate_state',
    'The state of a stream’s slate: 1 for the current state',
    ['stream', 'state'],
    () =>
      streams().flatMap(({ slate, streamId }) =>
        slate === null ? [] : [[{ stream: streamId, state: slate.state }, 1]],
      ),
  )
}

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

function watchRenderings(metrics: Registry, streams: Streams, status: Status): void {
  const ofNode = (read: (of: MediaNodeStatus['renderings']) => number) => (): Sample[] => {
    const of = status()?.renderings
    return of === undefined ? [] : [[{}, read(of)]]
  }
  gauge(
    metrics,
    'crier_renderings_running',
    'Running encoders of renderings',
    [],
    ofNode((of) => of.running),
  )
  gauge(
    metrics,
    'crier_renderings_limit',
    'Limit of concurrent encoders',
    [],
    ofNode((of) => of.most),
  )
  const labels = ['stream', 'destination']
  type Rendered = NonNullable<StreamStatus['destinations'][number]['rendering']>
  const each = (read: (rendering: Rendered) => readonly [more: Labels, value: number] | null) => () =>
    streams().flatMap(({ destinations, streamId }) =>
      destinations.flatMap(({ id, rendering }): Sample[] => {
        const found = rendering && read(rendering)
        return found ? [[{ stream: streamId, destination: id, ...found[0] }, found[1]]] : []
      }),
    )
  const of = (name: string) => `crier_rendering_${name}`
  gauge(
    metrics,
    of('state'),
    'The state of a destination’s rendering: 1 for the current state. Destinations with equal settings share a rendering',
    [...labels, 'state'],
    each(({ state }) => [{ state }, 1]),
  )
  gauge(
    metrics,
    of('speed_ratio'),
    'Seconds of media encoded per second; below 1 the encoder does not keep up',
    labels,
    each(({ speed }) => (speed === null ? null : [{}, speed])),
  )
  counter(
    metrics,
    of('restarts_total'),
    'Restarts of the encoder',
    labels,
    each(({ restarts }) => [{}, restarts]),
  )
  counter(
    metrics,
    of('dropped_total'),
    'Frames dropped because the encoder does not keep up',
    labels,
    each(({ droppedVideo }) => [{}, droppedVideo]),
  )
}

function watchWhip(metrics: Registry, status: Status): void {
  const sessions = () => status()?.whip?.sessions ?? []
  gauge(metrics, 'crier_whip_sessions', 'WHIP clients by state', ['state'], () => {
    const connected = sessions().filter((session) => session.connected).length
    return [
      [{ state: 'connected' }, connected],
      [{ state: 'connecting' }, sessions().length - connected],
    ]
  })
  const each = (read: (track: ReceptionStatus) => number) => () =>
    sessions().flatMap(({ streamId, tracks }) =>
      tracks.map((track): Sample => [{ stream: streamId, kind: track.kind }, read(track)]),
    )
  const labels = ['stream', 'kind']
  const of = (name: string) => `crier_whip_${name}`
  counter(
    metrics,
    of('packets_lost_total'),
    'Packets that were lost or arrived too late',
    labels,
    each(({ lost }) => lost),
  )
  counter(
    metrics,
    of('packets_recovered_total'),
    'Packets recovered by retransmission',
    labels,
    each(({ recovered }) => recovered),
  )
  counter(
    metrics,
    of('packets_requested_total'),
    'Retransmission requests for packets (NACK)',
    labels,
    each(({ requested }) => requested),
  )
  gauge(
    metrics,
    of('jitter_seconds'),
    'Interarrival jitter (RFC 3550, section 6.4.1)',
    labels,
    each(({ jitterMs }) => jitterMs / 1_000),
  )
}

function watchBroadcasts(metrics: Registry, streams: Streams): void {
  const playing = () => streams().flatMap(({ playout, streamId }) => (playout === null ? [] : [{ playout, streamId }]))
  gauge(metrics, 'crier_broadcasts', 'Playouts by state', ['state'], () => {
    const paused = playing().filter(({ playout }) => playout.paused).length
    return [
      [{ state: 'playing' }, playing().length - paused],
      [{ state: 'paused' }, paused],
    ]
  })
  gauge(metrics, 'crier_broadcast_item', 'Index of the current playout file in its list, from 0', ['stream'], () =>
    playing().map(({ playout, streamId }) => [{ stream: streamId }, playout.item]),
  )
  gauge(metrics, 'crier_broadcast_position_seconds', 'Position in the current playout file', ['stream'], () =>
    playing().map(({ playout, streamId }) => [{ stream: streamId }, playout.ms / 1_000]),
  )
}

function watchRecordings(metrics: Registry, streams: Streams): void {
  const running = () =>
    streams().flatMap(({ recording, streamId }) => (recording === null ? [] : [{ recording, streamId }]))
  gauge(metrics, 'crier_recordings', 'Streams being recorded', [], () => [[{}, running().length]])
  gauge(metrics, 'crier_recording_bytes', 'Size of the current recording file', ['stream'], () =>
    running().map(({ recording, streamId }) => [{ stream: streamId }, recording.bytes]),
  )
  gauge(metrics, 'crier_recording_seconds', 'Duration of the current recording file', ['stream'], () =>
    running().map(({ recording, streamId }) => [{ stream: streamId }, recording.seconds]),
  )
}
