import { DestinationFaultCode } from '../destinations/index.ts'
import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { pageFields } from '../../../core/page.ts'
import { RenderingInput, RenderingView } from './rendering.ts'
import { inputPreference, inputSelected } from './inputs.ts'
import { recordGaps } from './record-gaps.ts'
import { HoldSeconds, SlateInput, SlateView } from './slate.ts'
import { StreamStatus } from './state.ts'

/** As the media node reports it, or `unknown` while the node does not answer. */
export const DestinationStatus = States('DestinationStatus', 'How a destination of a stream is doing', {
  idle: 'Nothing is sent: the stream is not live, or the destination is disabled',
  resolving: 'Looks up the address of the platform’s server',
  connecting: 'Opens the connection, with TLS for rtmps',
  handshake: 'Connected. Exchanges the RTMP handshake',
  publishing: 'The server was asked to accept the stream with this key. It has not acknowledged any media yet',
  live: 'The server accepts the stream and acknowledges the media',
  congested: 'Live, but the server or the network is too slow. Video is dropped up to the next keyframe',
  backoff: 'The last attempt failed for the reason in `lastError`. The next attempt is automatic',
  needs_attention: 'No more attempts, because they cannot succeed. Fix the problem in `lastError`',
  stopped: 'Was live and has ended normally',
  unknown: 'The media node of the stream does not answer at the moment',
})
export type ShownDestinationState = Static<typeof DestinationStatus>

export const EndReason = States('StreamEndReason', 'Why a stream ended', {
  stopped: 'A user stopped it',
  source_lost: 'The encoder disconnected and did not return within `holdSeconds`',
  minutes_used_up: 'The streaming minutes of the plan were used up',
  deleted: 'The stream or its workspace was deleted',
  finished: 'Its file playout reached the end',
  failed: 'Its files could not be played',
})
export type EndReason = Static<typeof EndReason>

export const FAULT_FIELDS = {
  code: DestinationFaultCode,
  message: Type.String({ description: 'Text for users' }),
  hint: Type.Optional(Type.String({ description: 'What to check, as text for users' })),
  at: Timestamp,
}

export const FaultView = named('DestinationFault', Type.Object(FAULT_FIELDS))

const Platform = Text(1, 40, {
  description: 'The `platform` of the RTMP destination, such as `youtube`; `custom` is accepted for all of them',
})

export const StreamPlatform = named(
  'StreamPlatform',
  Type.Object({
    _id: Id,
    platform: Type.String({ description: 'Such as `youtube`; `custom` for an RTMP destination without a platform' }),
    accountId: Id,
    name: Type.String({ description: 'Name of the destination' }),
    enabled: Type.Boolean({ description: 'Whether the stream is relayed to it when it goes live' }),
    status: DestinationStatus,
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
    status: StreamStatus,
    endReason: Nullable(EndReason),
    statusSince: Timestamp,
    unconfirmedSince: Type.Union([Timestamp, Type.Null()], {
      description:
        'Since when the media node of the stream has not answered. `status` is the last reported one. Null while the node answers',
    }),
    rtmpIngestUrl: Type.String({ description: 'The server to enter in OBS' }),
    streamKey: Type.Optional(
      Type.String({
        description: 'The key to enter in OBS. It is secret and shown only to members with `streams:manage`',
      }),
    ),
    backupStreamKey: Type.Optional(
      Type.String({
        description:
          'The key for a second encoder, which is on standby and takes over when the first one fails. It is secret and shown like `streamKey`',
      }),
    ),
    streamKeyExpiresAt: Type.Optional(Timestamp),
    platforms: Type.Array(StreamPlatform),
    scheduledFor: Nullable(Timestamp),
    liveAt: Nullable(Timestamp),
    record: Type.Boolean(),
    recordGaps,
    slate: SlateView,
    holdSeconds: Type.Integer(),
    inputPreference,
    inputSelected,
    profile: Type.String(),
    version: Type.Integer({ description: 'Increases with every edit, not with changes of the status. It is the ETag' }),
  }),
)
export type StreamData = Static<typeof StreamView>
export type StreamPlatformData = Static<typeof StreamPlatform>

const MAX_PLATFORMS = 50

export const Platforms = Type.Array(
  Input({
    platform: Platform,
    accountId: Type.String({ ...Id, description: 'The `_id` of the RTMP destination' }),
    rendering: Type.Optional(Nullable(RenderingInput)),
  }),
  { maxItems: MAX_PLATFORMS },
)
export type PlatformInput = Static<typeof Platforms>[number]

/** Transcoding profiles. `source` relays media unchanged. */
const Profile = OneOf(['source'] as const)

const editable = {
  title: Text(1, 200),
  description: Type.Optional(Text(0, 5_000)),
  platforms: Type.Optional(Platforms),
  scheduledFor: Type.Optional(Nullable(InstantInput)),
  record: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Record the live stream to the media library. A stream without video is recorded as an audio file',
    }),
  ),
  recordGaps: Type.Optional(recordGaps),
  slate: Type.Optional(SlateInput),
  holdSeconds: Type.Optional(HoldSeconds),
  inputPreference: Type.Optional(inputPreference),
  profile: Type.Optional(Profile),
}

export const NewStream = Input({ workspaceId: Id, ...editable })
export type NewStreamData = Static<typeof NewStream>

export const StreamEdit = Input(editable)
export type StreamEditData = Static<typeof StreamEdit>

export const StreamPath = Input({ id: Id })

export const StreamQuery = Input({
  workspaceId: Id,
  status: Several(StreamStatus),
  from: Type.Optional(Type.String({ ...InstantInput, description: 'Created at this time or later' })),
  to: Type.Optional(Type.String({ ...InstantInput, description: 'Created before this time' })),
  ...pageFields,
})

export const GoLive = Input({
  destinationIds: Type.Optional(
    Type.Array(Id, {
      minItems: 1,
      maxItems: MAX_PLATFORMS,
      uniqueItems: true,
      description: '`_id`s of the stream’s platforms. The others are disabled. If absent, all are enabled',
    }),
  ),
  waitForIngest: Type.Optional(Type.Boolean({ description: 'Go live with the first frame of a publisher' })),
})

export const ArmedStream = named(
  'ArmedStream',
  Type.Object({
    rtmpIngestUrl: Type.String(),
    streamKey: Type.String({ description: 'The new key. It is secret' }),
    backupStreamKey: Type.String({ description: 'The new key for a second encoder. It is secret' }),
    whipUrl: Type.String({ description: 'The URL to publish to with WHIP (RFC 9725)' }),
    whipToken: Type.String({ description: 'The bearer token for `whipUrl`. It is secret' }),
    expiresAt: Timestamp,
  }),
)

export const StreamKeys = named(
  'StreamKeys',
  Type.Object({
    rtmpIngestUrl: Type.String(),
    streamKey: Type.String({ description: 'The key of the encoder. It is secret' }),
    backupStreamKey: Type.String({ description: 'The key of a second encoder. It is secret' }),
    whipUrl: Type.String({ description: 'The URL to publish to with WHIP (RFC 9725)' }),
    whipToken: Type.String({
      description: 'The bearer token for `whipUrl`. It is secret. It works until the stream ends or is armed again',
    }),
    expiresAt: { ...Timestamp, description: 'When the keys expire if no publisher has used them' },
  }),
)

export type ArmedData = Static<typeof ArmedStream>

export const StreamingUsageView = named(
  'StreamingUsage',
  Type.Object({
    month: Type.String({ description: 'Calendar month in UTC, such as 2026-11' }),
    minutesUsed: Type.Number({ description: 'In all workspaces that you own' }),
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
