import type { TSchema } from 'typebox'
import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { DestinationFaultCode } from './fault-codes.ts'
import { LIVE_PLATFORM_NAMES } from './live-platforms.ts'

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
        'A known platform. It sets the server, and Crier warns about media that the platform does not accept. linkedin, x, tiktok and instagram give a URL for each broadcast: send it as `url`',
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
    description: 'the stream key at that server, with its query string if any, without spaces. It is stored encrypted',
  }),
})
export type NewRtmpDestinationData = Static<typeof NewRtmpDestination>

export const RtmpDestinationEdit = Input({
  name: Type.Optional(Text(1, 100)),
  platform: Type.Optional(
    Nullable(OneOf(LIVE_PLATFORM_NAMES, { description: 'A known platform; null for any RTMP server' })),
  ),
  url: Type.Optional(Text(1, 2_048, { description: '`rtmp://host[:port]/app` or `rtmps://…`, without the key' })),
  streamKey: Type.Optional(
    Text(1, 500, {
      pattern: '^(••••)?[\\x21-\\x7e]*$',
      description: 'the new stream key. Without it, or as it was read (masked), the present one stays',
    }),
  ),
})
export type RtmpDestinationEditData = Static<typeof RtmpDestinationEdit>

export const RtmpDestinationTestInput = Input({
  confirmPublic: Type.Optional(
    Type.Boolean({
      description: 'Confirms that the platform may show the test to viewers. Needed for known platforms',
    }),
  ),
})

const TestStep = States('RtmpDestinationTestStep', 'A step of the test of an RTMP destination', {
  resolve: 'The name of the server is resolved, and its address is allowed',
  connect: 'The server accepts a TCP connection',
  tls: 'The server speaks TLS with a valid certificate. Only with `rtmps://`',
  handshake: 'The server completes the RTMP handshake',
  publish: 'The server accepts the application and the stream key',
  media: 'The server acknowledges media',
})

export const RtmpDestinationTestView = named(
  'RtmpDestinationTest',
  Type.Object({
    rtmpDestinationId: Id,
    passed: Type.Boolean({ description: 'Whether all steps passed' }),
    steps: Type.Array(TestStep, { description: 'The steps that passed, in order' }),
    failedStep: Nullable(TestStep),
    code: Nullable(DestinationFaultCode),
    explanation: Type.String({ description: 'What the test found, as a sentence' }),
    mending: Nullable(Type.String({ description: 'What to do about it; null if it passed' })),
    sent: OneOf(['slate', 'silence'] as const, {
      description: 'The card of a slate with silence, or silence alone if this server has no ffmpeg',
    }),
    sentBytes: Type.Integer(),
    acknowledgedBytes: Type.Integer({ description: 'Of `sentBytes`, how many arrived at the server' }),
    durationMs: Type.Integer({ description: 'How long the test took' }),
  }),
)
export type RtmpDestinationTestData = Static<typeof RtmpDestinationTestView>

export const DestinationQuery = Input({ workspaceId: Id, ...pageFields })

/** A figure with its source. */
const fact = <S extends TSchema>(value: S) =>
  Type.Object({
    value,
    source: OneOf(['obs', 'vendor', 'reported'] as const, {
      description: 'The services list of OBS, the platform’s own pages, or reports of users and partners',
    }),
    seen: Type.String({ description: 'Year and month in which the source was read' }),
  })

export const PlatformCaps = named(
  'PlatformCaps',
  Type.Object({
    platform: OneOf(LIVE_PLATFORM_NAMES),
    videoCodecs: fact(Type.Array(Type.String())),
    audioCodecs: fact(Type.Array(Type.String())),
    maxBitrate: Nullable(fact(Type.Integer({ description: 'Bits per second of video and audio together' }))),
    keyframeIntervalSeconds: fact(Type.Number({ description: 'The recommended interval' })),
    maxKeyframeIntervalSeconds: fact(Type.Number({ description: 'The longest interval that it accepts' })),
    maxHours: Nullable(fact(Type.Number({ description: 'The longest stream in hours' }))),
  }),
)
export type PlatformCapsData = Static<typeof PlatformCaps>
