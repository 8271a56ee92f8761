import type { TSchema } from 'typebox'
import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../core/schema.ts'
import { pageFields } from '../core/page.ts'
import { RenderingInput, RenderingStatusView, RenderingView } from './rendering.ts'
import { HoldSeconds, SlateInput, SlateStatusView, SlateView } from './slate.ts'
import { LIVE_PLATFORM_NAMES } from './live-platforms.ts'
import { STREAM_STATUSES } from './state.ts'

export const DESTINATION_STATES = [
  'idle',
  'resolving',
  'connecting',
  'handshake',
  'publishing',
  'live',
  'congested',
  'backoff',
  'needs_attention',
  'stopped',
] as const

export const END_REASONS = ['stopped', 'source_lost', 'minutes_used_up', 'deleted', 'finished', 'failed'] as const
export type EndReason = (typeof END_REASONS)[number]

export const FaultView = named(
  'DestinationFault',
  Type.Object({
    code: Type.String({ description: 'Stable, for programs: for example `rejected` or `connection_refused`' }),
    message: Type.String({ description: 'For people' }),
    at: Timestamp,
  }),
)

const Platform = Text(1, 40, { description: '`custom` for an RTMP destination of the workspace' })

export const StreamPlatform = named(
  'StreamPlatform',
  Type.Object({
    _id: Id,
    platform: Type.String(),
    accountId: Id,
    name: Type.String({ description: 'Name of the destination' }),
    enabled: Type.Boolean({ description: 'Whether going live sends to it' }),
    status: OneOf(DESTINATION_STATES),
    since: Timestamp,
    lastError: Nullable(FaultView),
    rendering: Nullable(RenderingView),
  }),
)

export const StreamView = named(
  'Stream',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    title: Type.String(),
    description: Type.String(),
    status: OneOf(STREAM_STATUSES),
    statusReason: Nullable(OneOf(END_REASONS, { description: 'Why it ended' })),
    statusSince: Timestamp,
    rtmpIngestUrl: Type.String({ description: 'The server to enter in OBS' }),
    streamKey: Type.Optional(
      Type.String({ description: 'The key to enter in OBS; a secret. Only for members with streams:manage' }),
    ),
    backupStreamKey: Type.Optional(
      Type.String({
        description:
          'The key for a second encoder, which stands by and takes over when the first one fails; a secret, shown like `streamKey`',
      }),
    ),
    streamKeyExpiresAt: Type.Optional(Timestamp),
    platforms: Type.Array(StreamPlatform),
    scheduledFor: Nullable(Timestamp),
    liveAt: Nullable(Timestamp),
    record: Type.Boolean(),
    slate: SlateView,
    holdSeconds: Type.Integer(),
    profile: Type.String(),
    version: Type.Integer(),
  }),
)
export type StreamData = Static<typeof StreamView>
export type StreamPlatformData = Static<typeof StreamPlatform>

const MOST_PLATFORMS = 50

export const Platforms = Type.Array(
  Input({
    platform: Platform,
    accountId: Type.String({ ...Id, description: 'Of a custom RTMP destination, with platform `custom`' }),
    rendering: Type.Optional(Nullable(RenderingInput)),
  }),
  { maxItems: MOST_PLATFORMS },
)
export type PlatformInput = Static<typeof Platforms>[number]

/** Transcoding profiles; `source` relays media as it comes. */
const Profile = OneOf(['source'] as const)

const editable = {
  title: Text(1, 200),
  description: Type.Optional(Text(0, 5_000)),
  platforms: Type.Optional(Platforms),
  scheduledFor: Type.Optional(Nullable(InstantInput)),
  record: Type.Optional(
    Type.Boolean({ default: false, description: 'Record what goes out into the media library, while it is live' }),
  ),
  slate: Type.Optional(SlateInput),
  holdSeconds: Type.Optional(HoldSeconds),
  profile: Type.Optional(Profile),
}

export const NewStream = Input({ workspaceId: Id, ...editable })
export type NewStreamData = Static<typeof NewStream>

export const StreamEdit = Input(editable)
export type StreamEditData = Static<typeof StreamEdit>

export const StreamPath = Input({ id: Id })

export const StreamQuery = Input({
  workspaceId: Id,
  status: Type.Optional(OneOf(STREAM_STATUSES)),
  from: Type.Optional(Type.String({ ...InstantInput, description: 'Created at this time or later' })),
  to: Type.Optional(Type.String({ ...InstantInput, description: 'Created before this time' })),
  ...pageFields,
})

export const GoLive = Input({
  destinationIds: Type.Optional(
    Type.Array(Id, {
      minItems: 1,
      maxItems: MOST_PLATFORMS,
      uniqueItems: true,
      description:
        '`_id`s of the stream’s platforms; the others are switched off. All that are switched on when absent',
    }),
  ),
  waitForIngest: Type.Optional(
    Type.Boolean({ description: 'Go live as soon as a publisher sends, from its first frame on' }),
  ),
})

export const ArmedStream = named(
  'ArmedStream',
  Type.Object({
    rtmpIngestUrl: Type.String(),
    streamKey: Type.String({ description: 'The new key; a secret' }),
    backupStreamKey: Type.String({ description: 'The new key for a second encoder; a secret' }),
    whipUrl: Type.String({ description: 'Where a browser publishes by WHIP (RFC 9725)' }),
    whipToken: Type.String({ description: 'The bearer token for `whipUrl`; a secret, shown this once' }),
    expiresAt: Timestamp,
  }),
)

export type ArmedData = Static<typeof ArmedStream>

export const PreviewToken = named(
  'PreviewToken',
  Type.Object({
    token: Type.String({
      description: 'A secret: whoever has it can watch this one stream, until it expires or stops',
    }),
    expiresAt: Timestamp,
    pageUrl: Type.String({ description: 'A page of this server that plays the stream' }),
    whepUrl: Type.String({ description: 'Where a browser watches by WHEP, with `token` as bearer token' }),
  }),
)
export type PreviewTokenData = Static<typeof PreviewToken>

export const PreviewQuery = Input({
  token: Type.Optional(
    Type.String({ maxLength: 500, description: 'A preview token, in place of a credential in a header' }),
  ),
})

export const RtmpDestinationView = named(
  'RtmpDestination',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String(),
    platform: Nullable(OneOf(LIVE_PLATFORM_NAMES)),
    url: Type.String(),
    streamKey: Type.String({ description: 'Masked: `••••` and the last characters' }),
  }),
)
export type RtmpDestinationData = Static<typeof RtmpDestinationView>

export const NewRtmpDestination = Input({
  workspaceId: Id,
  name: Text(1, 100),
  platform: Type.Optional(
    OneOf(LIVE_PLATFORM_NAMES, {
      description:
        'A well-known platform: fills in the server and lets Crier warn of what it does not take. linkedin, x, tiktok and instagram give a URL for each broadcast, which goes into `url`',
    }),
  ),
  url: Type.Optional(
    Text(1, 2_048, {
      description:
        '`rtmp://host[:port]/app` or `rtmps://…`, without the key. Not needed with a platform that has a fixed server',
    }),
  ),
  streamKey: Text(1, 500, {
    pattern: '^[\\x21-\\x7e]+$',
    description: 'the stream key at that server, with its query if it has one, without spaces; stored encrypted',
  }),
})
export type NewRtmpDestinationData = Static<typeof NewRtmpDestination>

export const DestinationQuery = Input({ workspaceId: Id, ...pageFields })

export const StreamingUsageView = named(
  'StreamingUsage',
  Type.Object({
    month: Type.String({ description: 'Calendar month in UTC, such as 2026-11' }),
    minutesUsed: Type.Number({ description: 'Over all workspaces that you own' }),
    minutesLimit: Type.Integer(),
    destinationLimit: Type.Integer({ description: 'Destinations of one stream' }),
    concurrentLimit: Type.Integer({ description: 'Streams that are live at the same time' }),
    activeStreams: Type.Integer(),
    workspaces: Type.Array(
      Type.Object({
        workspaceId: Id,
        minutesUsed: Type.Number(),
        activeStreams: Type.Integer(),
        owned: Type.Boolean({ description: 'Whether its minutes count against your own plan' }),
      }),
    ),
  }),
)

export const WARNING_CODES = [
  'video_missing',
  'audio_missing',
  'video_codec',
  'audio_codec',
  'keyframe_interval',
  'frame_rate_varies',
  'bitrate',
  'clock_drift',
  'timestamps_back',
  'resolution_changed',
] as const

const WarningView = named(
  'StreamWarning',
  Type.Object({
    code: OneOf(WARNING_CODES, { description: 'Stable, for programs' }),
    message: Type.String({ description: 'For people' }),
    since: Timestamp,
  }),
)

const IngestView = Type.Object({
  sessionId: Type.String(),
  source: OneOf(['primary', 'backup', 'file'] as const, {
    description: 'By which of the two keys it came; `file` when files are broadcast',
  }),
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
    keyframeInterval: fact(Type.Number({ description: 'What it asks for, seconds' })),
    maxKeyframeInterval: fact(Type.Number({ description: 'What it takes at most, seconds' })),
    maxHours: Nullable(fact(Type.Number({ description: 'Longest broadcast' }))),
  }),
)
export type PlatformCapsData = Static<typeof PlatformCaps>

export const RelayDestination = Type.Object({
  destinationId: Id,
  platform: Type.String(),
  accountId: Id,
  name: Type.String(),
  state: OneOf(DESTINATION_STATES),
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
    status: OneOf(STREAM_STATUSES),
    path: Type.String({ description: 'Public part of the ingest key' }),
    live: Type.Boolean(),
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
          refused: Nullable(Type.String({ description: 'Why something of what goes out is not recorded' })),
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
        ok: Type.Boolean(),
        uptimeSeconds: Type.Integer(),
        connections: Type.Integer(),
        streams: Type.Integer({ description: 'Streams that take in media' }),
        mostStreams: Type.Integer({ description: 'How many it takes' }),
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
