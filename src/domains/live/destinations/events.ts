import { event } from '../../../core/event.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { Id, Nullable, Type } from '../../../core/schema.ts'

const { rtmpDestinationId } = EXAMPLE

export const rtmpDestinationCreated = event({
  name: 'rtmpDestination.created',
  summary: 'An RTMP destination was created',
  scope: 'streams:read',
  data: Type.Object({
    rtmpDestinationId: Id,
    name: Type.String({ description: 'Name of the destination' }),
    platform: Nullable(Type.String({ description: 'Such as `youtube`; null for any RTMP server' })),
  }),
  example: { rtmpDestinationId, name: 'Main channel', platform: 'youtube' },
})

export const rtmpDestinationUpdated = event({
  name: 'rtmpDestination.updated',
  summary: 'An RTMP destination was changed. Live streams that use it reconnect if its server or key has changed',
  scope: 'streams:read',
  data: Type.Object({
    rtmpDestinationId: Id,
    name: Type.String({ description: 'Name of the destination' }),
    platform: Nullable(Type.String({ description: 'Such as `youtube`; null for any RTMP server' })),
    accessChanged: Type.Boolean({ description: 'Whether its server or key has changed' }),
  }),
  example: { rtmpDestinationId, name: 'Main channel', platform: 'youtube', accessChanged: true },
})

export const rtmpDestinationTested = event({
  name: 'rtmpDestination.tested',
  summary: 'An RTMP destination was tested',
  scope: 'streams:read',
  data: Type.Object({
    rtmpDestinationId: Id,
    passed: Type.Boolean({ description: 'Whether the server accepted the stream and acknowledged media' }),
  }),
  example: { rtmpDestinationId, passed: true },
})

export const rtmpDestinationDeleted = event({
  name: 'rtmpDestination.deleted',
  summary: 'An RTMP destination was deleted and removed from the streams that used it',
  scope: 'streams:read',
  data: Type.Object({ rtmpDestinationId: Id }),
  example: { rtmpDestinationId },
})
