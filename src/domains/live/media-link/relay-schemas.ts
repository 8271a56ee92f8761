import { Id, named, Nullable, Timestamp, Type } from '../../../core/schema.ts'
import {
  DestinationStatus,
  FaultView,
  PublisherSource,
  RenderingStatusView,
  SlateStatusView,
  StreamStatus,
  WarningCode,
} from '../streams/index.ts'
import { PlatformCaps } from '../destinations/index.ts'

/** The relay status and relay health. */

const WarningView = named(
  'StreamWarning',
  Type.Object({
    code: WarningCode,
    message: Type.String({ description: 'Text for users' }),
    since: Timestamp,
  }),
)

const IngestView = Type.Object({
  sessionId: Type.String(),
  source: PublisherSource,
  since: Timestamp,
  videoCodec: Nullable(Type.String()),
  audioCodec: Nullable(Type.String()),
  width: Nullable(Type.Integer()),
  height: Nullable(Type.Integer()),
  fps: Nullable(Type.Number()),
  bitrate: Type.Number({ description: 'Bits per second over the last few seconds' }),
  bytesReceived: Type.Integer(),
  keyframeIntervalSeconds: Nullable(Type.Number()),
  uptimeSeconds: Type.Number(),
  warnings: Type.Array(WarningView, { description: 'Problems that affect all destinations' }),
})

export const RelayDestination = Type.Object({
  destinationId: Id,
  platform: Type.String(),
  accountId: Id,
  name: Type.String(),
  status: DestinationStatus,
  since: Timestamp,
  bytesSent: Type.Integer(),
  bytesAcknowledged: Type.Integer(),
  bitrate: Type.Number(),
  queuedBytes: Type.Integer(),
  queuedMs: Type.Number(),
  messagesSent: Type.Integer(),
  droppedVideo: Type.Integer(),
  droppedAudio: Type.Integer(),
  reconnects: Type.Integer(),
  liveSeconds: Type.Number(),
  lastError: Nullable(FaultView),
  nextRetryAt: Nullable(Timestamp),
  warnings: Type.Array(WarningView, { description: 'Problems that affect only this destination' }),
  caps: Nullable(PlatformCaps),
  rendering: Nullable(RenderingStatusView),
})

export const RelayStatusView = named(
  'RelayStatus',
  Type.Object({
    streamId: Id,
    status: StreamStatus,
    path: Type.String({ description: 'Public part of the ingest key' }),
    live: Type.Boolean(),
    lastSeenAt: Type.Union([Timestamp, Type.Null()], {
      description:
        'When a media node last reported the stream. If that is seconds ago, `at` is null and connected destinations are `unknown`',
    }),
    ingest: Nullable(IngestView),
    standby: Type.Union([IngestView, Type.Null()], {
      description: 'The other publisher. It takes over within 2 s when the relayed one disconnects or stops sending',
    }),
    viewers: Type.Integer({ description: 'Number of preview viewers' }),
    slate: Type.Union([SlateStatusView, Type.Null()], { description: 'Null when the slate is off' }),
    recording: Type.Union(
      [
        Type.Object({
          bytes: Type.Integer({ description: 'Size of the current file' }),
          duration: Type.Number({ description: 'Duration of the current file in seconds' }),
          error: Nullable(Type.String({ description: 'Why the recording is incomplete' })),
        }),
        Type.Null(),
      ],
      { description: 'Null when nothing is being recorded' },
    ),
    destinations: Type.Array(RelayDestination),
    at: Nullable(Timestamp),
  }),
)

export const RelayHealthView = named(
  'RelayHealth',
  Type.Object({
    nodes: Type.Array(
      Type.Object({
        nodeId: Id,
        ok: Type.Boolean({ description: 'Whether the node and its media process respond' }),
        lastSeenAt: Type.Union([Timestamp, Type.Null()], { description: 'When its media process last responded' }),
        uptimeSeconds: Type.Integer(),
        connections: Type.Integer(),
        streams: Type.Integer({ description: 'Streams that have a publisher' }),
        maxStreams: Type.Integer({ description: 'Maximum number of streams with a publisher' }),
        load: Type.Number({ description: 'From 0 to 1 (full), by streams or CPU, whichever is higher' }),
        at: Timestamp,
      }),
    ),
    paths: Type.Array(
      Type.Object({
        streamId: Id,
        workspaceId: Id,
        title: Type.String(),
        path: Type.String(),
        live: Type.Boolean(),
        bitrate: Type.Number(),
        videoCodec: Nullable(Type.String()),
        audioCodec: Nullable(Type.String()),
        readers: Type.Integer({ description: 'Destinations that are connected' }),
      }),
    ),
  }),
)
