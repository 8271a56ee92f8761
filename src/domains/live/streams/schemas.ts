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
import { pageFields } from '../../../core/page.ts'
import { DestinationFaultCode } from './fault-codes.ts'
import { RenderingInput, RenderingView } from './rendering.ts'
import { inputPreference, inputSelected } from './inputs.ts'
import { recordGaps } from './record-gaps.ts'
import { HoldSeconds, SlateInput, SlateView } from './slate.ts'
import { StreamStatus } from './state.ts'

/** As the media node tells it, or `unknown` while the node does not answer. */
export const DestinationStatus = States('DestinationStatus', 'How a destination of a stream is doing', {
  idle: 'Nothing is sent: the stream is not on the air, or the destination is switched off',
  resolving: 'Looks up the address of the platform’s server',
  connecting: 'Opens the connection, with TLS for rtmps',
  handshake: 'Connected. Exchanges the RTMP handshake',
  publishing: 'The server was asked to take the stream with this key and has not confirmed any media yet',
  live: 'The server takes the stream and confirms the media',
  congested: 'Live, but the server or the network takes less than comes in. Video is left out up to a keyframe',
  backoff: 'The last attempt failed, as `lastError` says. The next one follows by itself',
  needs_attention: 'Attempts have ended because they cannot succeed, as `lastError` says. Correct the destination',
  stopped: 'Was on the air and has ended in good order',
  unknown: 'The media node that has the stream does not answer at the moment',
})
export type ShownDestinationState = Static<typeof DestinationStatus>

export const EndReason = States('StreamEndReason', 'Why a stream ended', {
  stopped: 'Somebody stopped it',
  source_lost: 'The encoder went away and did not come back within `holdSeconds`',
  minutes_used_up: 'The streaming minutes of the plan were used up',
  deleted: 'The stream or its workspace was deleted',
  finished: 'Its broadcast of files came to the end',
  failed: 'Its broadcast of files could not be played',
})
export type EndReason = Static<typeof EndReason>

export const FAULT_FIELDS = {
  code: DestinationFaultCode,
  message: Type.String({ description: 'For people' }),
  hint: Type.Optional(Type.String({ description: 'What to check, for people' })),
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
    enabled: Type.Boolean({ description: 'Whether going live sends to it' }),
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
        'Since when the media node that has the stream does not answer: `status` is the last that it told. Null while it answers',
    }),
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
    recordGaps,
    slate: SlateView,
    holdSeconds: Type.Integer(),
    inputPreference,
    inputSelected,
    profile: Type.String(),
    version: Type.Integer({ description: 'Grows with every edit, not with what happens on the air; the ETag' }),
  }),
)
export type StreamData = Static<typeof StreamView>
export type StreamPlatformData = Static<typeof StreamPlatform>

const MOST_PLATFORMS = 50

export const Platforms = Type.Array(
  Input({
    platform: Platform,
    accountId: Type.String({ ...Id, description: 'The `_id` of the RTMP destination' }),
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
    Type.Boolean({
      default: false,
      description:
        'Record what goes out into the media library, while it is live. A stream without pictures is recorded as an audio file',
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
  status: Type.Optional(StreamStatus),
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
