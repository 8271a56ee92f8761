import { event } from '../core/event.ts'
import { Id, Nullable, OneOf, Timestamp, Type } from '../core/schema.ts'
import { BROADCAST_STATUSES } from './files/schemas.ts'
import { RECORDING_STATUSES } from './recording/store.ts'
import { DESTINATION_STATES, END_REASONS, WARNING_CODES } from './schemas.ts'
import { STREAM_STATUSES } from './state.ts'

/** No event of a stream carries a key, or a URL that could hold one. */

const changed = Type.Object({
  streamId: Id,
  title: Type.String(),
  status: OneOf(STREAM_STATUSES),
  statusReason: Nullable(OneOf(END_REASONS)),
  version: Type.Integer(),
})

export const streamCreated = event({
  name: 'stream.created',
  summary: 'A stream was created',
  scope: 'streams:read',
  data: changed,
})

export const streamUpdated = event({
  name: 'stream.updated',
  summary: 'A stream was edited, or its status has changed',
  scope: 'streams:read',
  data: changed,
})

export const streamDeleted = event({
  name: 'stream.deleted',
  summary: 'A stream was deleted',
  scope: 'streams:read',
  data: Type.Object({ streamId: Id }),
})

export const streamDestinationChanged = event({
  name: 'stream.destination',
  summary: 'A destination of a stream has changed its state',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    destinationId: Id,
    platform: Type.String(),
    accountId: Id,
    name: Type.String(),
    status: OneOf(DESTINATION_STATES),
    since: Timestamp,
    lastError: Nullable(Type.Object({ code: Type.String(), message: Type.String(), at: Timestamp })),
  }),
})

export const streamBroadcast = event({
  name: 'stream.broadcast',
  summary:
    'A broadcast of files was scheduled, is being prepared, has begun, come to another file, was paused or has ended',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    broadcastId: Id,
    status: OneOf(BROADCAST_STATUSES),
    item: Type.Integer({ description: 'The file that is played, counted from 0' }),
    items: Type.Integer({ description: 'How many there are' }),
    assetId: Nullable(Id),
    name: Nullable(Type.String()),
    scheduledFor: Nullable(Timestamp),
    error: Nullable(Type.String()),
  }),
})

export const streamRecording = event({
  name: 'stream.recording',
  summary: 'A recording of a live stream has begun, is in the media library or has failed',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    sessionId: Id,
    status: OneOf(RECORDING_STATUSES),
    startedAt: Timestamp,
    assetId: Nullable(Id),
    duration: Nullable(Type.Number({ description: 'Seconds' })),
    error: Nullable(Type.String()),
  }),
})

export const streamDiagnosis = event({
  name: 'stream.diagnosis',
  summary: 'Something has turned out to be wrong with what a stream takes in, or is right again',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    destinationId: Nullable(Type.String({ ...Id, description: 'Which destination does not take it; null for all' })),
    code: OneOf(WARNING_CODES),
    message: Type.String({ description: 'For people' }),
    since: Timestamp,
    state: OneOf(['raised', 'cleared'] as const),
  }),
})

/** `recording_incomplete`: the recording goes on without its sound. */
const STREAM_WARNINGS = ['minutes_running_out', 'recording_stopped', 'recording_incomplete'] as const

export const streamSlate = event({
  name: 'stream.slate',
  summary: 'Destinations see the slate because the publisher is away, or do not see it any more',
  scope: 'streams:read',
  data: Type.Object({ streamId: Id, shown: Type.Boolean() }),
})

export const streamWarning = event({
  name: 'stream.warning',
  summary: 'A live stream will be stopped soon, or is not recorded, or not as a whole',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    code: OneOf(STREAM_WARNINGS),
    minutesLeft: Type.Optional(Type.Integer({ description: 'Streaming minutes of the plan that are left this month' })),
    message: Type.Optional(Type.String({ description: 'Why it is not recorded, for people' })),
  }),
})

export const rtmpDestinationCreated = event({
  name: 'destination.created',
  summary: 'The workspace has another RTMP destination',
  scope: 'streams:read',
  data: Type.Object({ destinationId: Id, name: Type.String(), platform: Nullable(Type.String()) }),
})

export const rtmpDestinationDeleted = event({
  name: 'destination.deleted',
  summary: 'An RTMP destination was deleted, and taken off the streams that had it',
  scope: 'streams:read',
  data: Type.Object({ destinationId: Id }),
})
