import type { TSchema } from 'typebox'
import { Id, named, Nullable, OneOf, States, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { PublisherSource } from './inputs.ts'
import { LIVE_PLATFORM_NAMES } from '../destinations/live-platforms.ts'
import { RenderingStatusView } from './rendering.ts'
import { DestinationStatus, FaultView } from './schemas.ts'
import { SlateStatusView } from '../playout/slate.ts'
import { StreamStatus } from './state.ts'

/** How media flows right now, as it is shown. */

export const WarningCode = States('StreamWarningCode', 'What is wrong with what a stream takes in', {
  video_missing: 'No video comes in, or it has stopped',
  audio_missing: 'No audio comes in, or it has stopped',
  video_codec: 'The platform does not take this video codec',
  audio_codec: 'The platform does not take this audio codec',
  pixel_format: 'The chroma format or bit depth is not the 8-bit 4:2:0 that platforms take',
  audio_channels: 'The audio has more channels than the two that platforms take',
  keyframe_missing: 'The video has no keyframe, so nothing can start to decode it',
  keyframe_interval: 'Keyframes are too far apart: set the keyframe interval of the encoder to 2 seconds',
  frame_rate_varies: 'The frame rate varies: set a constant one in the encoder',
  bitrate: 'The bitrate is above what the platform takes',
  clock_drift: 'Timestamps run faster or slower than time does',
  audio_offset: 'The timestamps of audio and video are more than a second apart',
  timestamps_forward: 'Timestamps have jumped forward',
  timestamps_back: 'Timestamps have jumped back',
  resolution_changed: 'The size of the picture has changed on the air, which platforms may refuse',
  key_contested: 'A second encoder tries to publish with the same key',
})

const WarningView = named(
  'StreamWarning',
  Type.Object({
    code: WarningCode,
    message: Type.String({ description: 'For people' }),
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
  warnings: Type.Array(WarningView, { description: 'What is wrong with it for every destination' }),
})

/** A figure with where it comes from. */
const fact = <S extends TSchema>(value: S) =>
  Type.Object({
    value,
    source: OneOf(['obs', 'vendor', 'reported'] as const, {
      description: 'The services list of OBS, the platform’s own pages, or what users and partners report',
    }),
    seen: Type.String({ description: 'Year and month in which it was read' }),
  })

export const PlatformCaps = named(
  'PlatformCaps',
  Type.Object({
    platform: OneOf(LIVE_PLATFORM_NAMES),
    videoCodecs: fact(Type.Array(Type.String())),
    audioCodecs: fact(Type.Array(Type.String())),
    maxBitrate: Nullable(fact(Type.Integer({ description: 'Bits per second of pictures and sound together' }))),
    keyframeIntervalSeconds: fact(Type.Number({ description: 'The interval that it asks for' })),
    maxKeyframeIntervalSeconds: fact(Type.Number({ description: 'The longest interval that it accepts' })),
    maxHours: Nullable(fact(Type.Number({ description: 'Longest broadcast' }))),
  }),
)
export type PlatformCapsData = Static<typeof PlatformCaps>

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
  warnings: Type.Array(WarningView, { description: 'What this destination does not take of what comes in' }),
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
        'When a media node last told how the stream is. When that is seconds ago, `at` is null and destinations that were connected are `unknown`',
    }),
    ingest: Nullable(IngestView),
    standby: Type.Union([IngestView, Type.Null()], {
      description: 'The other publisher, which takes over within 2 s when the one that is relayed ends or falls silent',
    }),
    viewers: Type.Integer({ description: 'Who watch the preview now' }),
    slate: Type.Union([SlateStatusView, Type.Null()], { description: 'Null when none is wanted' }),
    recording: Type.Union(
      [
        Type.Object({
          bytes: Type.Integer({ description: 'Of the file that is written now' }),
          duration: Type.Number({ description: 'Seconds of that file' }),
          error: Nullable(Type.String({ description: 'Why the recording is incomplete' })),
        }),
        Type.Null(),
      ],
      { description: 'Null when nothing is recorded now' },
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
        ok: Type.Boolean({ description: 'Whether the node and its media process answer' }),
        lastSeenAt: Type.Union([Timestamp, Type.Null()], { description: 'When its media process last answered' }),
        uptimeSeconds: Type.Integer(),
        connections: Type.Integer(),
        streams: Type.Integer({ description: 'Streams that take in media' }),
        maxStreams: Type.Integer({ description: 'How many it accepts' }),
        load: Type.Number({ description: 'From 0 to 1, which is full: by streams or by work, whichever is more' }),
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
