import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, States, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { InputChangeReason, PublisherSource } from './inputs.ts'
import { WarningCode } from './warning-code.ts'
import { DestinationStatus, EndReason, FAULT_FIELDS } from './schemas.ts'
import { StreamStatus } from './state.ts'

const { destinationId, rtmpDestinationId, streamId } = EXAMPLE

/** No event of a stream carries a key, or a URL that could hold one. */

const changed = Type.Object({
  streamId: Id,
  title: Type.String({ description: 'Title of the stream' }),
  status: StreamStatus,
  endReason: Nullable(EndReason),
  version: Type.Integer({ description: 'Increases with every edit of the stream. For If-Match' }),
})

const stream: Static<typeof changed> = { streamId, title: 'Friday show', status: 'live', endReason: null, version: 3 }

export const streamCreated = event({
  name: 'stream.created',
  summary: 'A stream was created',
  scope: 'streams:read',
  data: changed,
  example: { ...stream, status: 'idle', version: 1 },
})

export const streamUpdated = event({
  name: 'stream.updated',
  summary: 'A stream was edited, or its status changed',
  description: 'It carries the fields that change often. Read the stream for the others.',
  scope: 'streams:read',
  data: changed,
  example: stream,
})

export const streamDeleted = event({
  name: 'stream.deleted',
  summary: 'A stream was deleted',
  scope: 'streams:read',
  data: Type.Object({ streamId: Id }),
  example: { streamId },
})

export const streamDestinationChanged = event({
  name: 'destination.updated',
  summary: 'The status of a destination changed',
  description: '`lastError` says why a destination is in `backoff` or `needs_attention`, and what to check.',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    destinationId: Id,
    platform: Type.String({ description: 'Such as `youtube`; `custom` for any RTMP server' }),
    accountId: Type.String({ ...Id, description: 'The RTMP destination of the workspace' }),
    name: Type.String({ description: 'Name of the destination' }),
    status: DestinationStatus,
    since: Type.String({ ...Timestamp, description: 'When it got this status' }),
    lastError: Nullable(Type.Object(FAULT_FIELDS, { description: 'Why it failed the last time' })),
  }),
  example: {
    streamId,
    destinationId,
    platform: 'youtube',
    accountId: rtmpDestinationId,
    name: 'Main channel',
    status: 'backoff',
    since: EXAMPLE_TIME,
    lastError: {
      code: 'connection_refused',
      message: 'The server refused the connection.',
      hint: 'Check the address and the port.',
      at: EXAMPLE_TIME,
    },
  },
})

export const streamDiagnosis = event({
  name: 'diagnosis.updated',
  summary: 'A problem of an ingest was found or resolved',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    destinationId: Nullable(Type.String({ ...Id, description: 'The affected destination. Null for all' })),
    code: WarningCode,
    message: Type.String({ description: 'Text for users' }),
    since: Type.String({ ...Timestamp, description: 'When the problem began' }),
    status: States('DiagnosisStatus', 'Whether a problem of a stream still exists', {
      raised: 'The problem exists now',
      cleared: 'The problem is resolved',
    }),
  }),
  example: {
    streamId,
    destinationId: null,
    code: 'keyframe_interval',
    message: 'Keyframes are 8 seconds apart.',
    since: EXAMPLE_TIME,
    status: 'raised',
  },
})

export const streamInput = event({
  name: 'input.updated',
  summary: 'The live publisher of a stream changed: primary encoder, backup encoder or files',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    source: PublisherSource,
    previous: PublisherSource,
    reason: InputChangeReason,
  }),
  example: { streamId, source: 'backup', previous: 'primary', reason: 'silent' },
})

const StreamNoticeCode = States('StreamNoticeCode', 'What a warning about a live stream means', {
  minutes_running_out: 'The stream is stopped after `minutesLeft` more minutes',
  recording_stopped: 'The stream continues without recording, for the reason in `message`',
  recording_incomplete: 'The recording continues without audio, for the reason in `message`',
  webrtc_lost:
    'WebRTC publishers and viewers were disconnected by a failure of the media node. They can reconnect at once',
})

export const streamSlate = event({
  name: 'slate.updated',
  summary: 'Destinations started or stopped seeing the slate',
  scope: 'streams:read',
  data: Type.Object({ streamId: Id, shown: Type.Boolean({ description: 'Whether destinations see the slate now' }) }),
  example: { streamId, shown: true },
})

export const streamWarning = event({
  name: 'stream.warning',
  summary: 'A live stream will be stopped soon, is not fully recorded, or has lost its WebRTC clients',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    code: StreamNoticeCode,
    minutesLeft: Type.Optional(Type.Integer({ description: 'Streaming minutes of the plan that are left this month' })),
    message: Type.Optional(Type.String({ description: 'What happened and why, as text for users' })),
  }),
  example: { streamId, code: 'minutes_running_out', minutesLeft: 5 },
})
