import { event } from '../../../core/event.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { Id, Nullable, Timestamp, Type } from '../../../core/schema.ts'
import { BroadcastStatus } from './schemas.ts'

const { assetId, broadcastId, streamId } = EXAMPLE

export const streamBroadcast = event({
  name: 'broadcast.updated',
  summary:
    'A file broadcast was scheduled, is being prepared, has started, has reached another file, was paused, or has ended',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    broadcastId: Id,
    status: BroadcastStatus,
    item: Type.Integer({ description: 'Index of the file that is being played, from 0' }),
    itemCount: Type.Integer({ description: 'Number of files' }),
    assetId: Nullable(Type.String({ ...Id, description: 'Asset of that file' })),
    name: Nullable(Type.String({ description: 'Name of that file' })),
    scheduledFor: Nullable(
      Type.String({ ...Timestamp, description: 'When the broadcast starts, if it was scheduled' }),
    ),
    error: Nullable(Type.String({ description: 'Why the broadcast failed, as text for people' })),
  }),
  example: {
    streamId,
    broadcastId,
    status: 'playing',
    item: 0,
    itemCount: 2,
    assetId,
    name: 'show.mp4',
    scheduledFor: null,
    error: null,
  },
})
