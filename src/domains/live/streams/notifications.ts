import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

const HOUR_SECONDS = 3_600

const stream = { streamId: Type.String(), stream: Type.String() }
const aStream = { streamId: EXAMPLE.streamId, stream: 'Friday show' }
const resource = ({ streamId }: { readonly streamId: string }) => ({ kind: 'stream', id: streamId })
const group = ({ streamId }: { readonly streamId: string }) => streamId

export const streamStarted = notificationType({
  name: 'stream.started',
  kind: 'streamStarted',
  summary: 'A stream is live',
  scope: 'streams:read',
  data: Type.Object(stream),
  example: aStream,
  resource,
  group,
  ttlSeconds: HOUR_SECONDS,
})

export const streamInterrupted = notificationType({
  name: 'stream.interrupted',
  kind: 'streamInterrupted',
  summary: 'The publisher of a live stream has disconnected. Sent to members who manage streams',
  scope: 'streams:manage',
  data: Type.Object(stream),
  example: aStream,
  resource,
  group,
  urgent: true,
  ttlSeconds: HOUR_SECONDS,
})

export const streamDestinationFailed = notificationType({
  name: 'stream.destinationFailed',
  kind: 'streamInterrupted',
  summary: 'A destination of a live stream refuses it, and is not tried again. Sent to members who manage streams',
  scope: 'streams:manage',
  data: Type.Object({ ...stream, destination: Type.String(), reason: Type.String() }),
  example: { ...aStream, destination: 'Twitch', reason: 'The server does not accept the stream key.' },
  resource,
  group,
  urgent: true,
  ttlSeconds: HOUR_SECONDS,
})

export const streamEnded = notificationType({
  name: 'stream.ended',
  kind: 'streamEnded',
  summary: 'A live stream has ended, and nobody has stopped it',
  scope: 'streams:read',
  data: Type.Object({ ...stream, cause: Type.String() }),
  example: { ...aStream, cause: 'source_lost' },
  resource,
  group,
})

export const streamMinutesLow = notificationType({
  name: 'stream.minutesLow',
  kind: 'streamingMinutesLow',
  summary: 'The streaming minutes of the plan are running out during a session. Sent to members who manage streams',
  scope: 'streams:manage',
  data: Type.Object({ streamId: Type.String(), minutes: Type.Integer() }),
  example: { streamId: EXAMPLE.streamId, minutes: 10 },
  resource,
  group,
  urgent: true,
  ttlSeconds: HOUR_SECONDS,
})
