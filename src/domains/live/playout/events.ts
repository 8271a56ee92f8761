import { event } from '../../../core/event.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { Id, Nullable, Timestamp, Type } from '../../../core/schema.ts'
import { BroadcastStatus } from './schemas.ts'

const { assetId, broadcastId, streamId } = EXAMPLE

export const streamBroadcast = event({
  name: 'broadcast.updated',
  summary:
    'A broadcast of files was scheduled, is being prepared, has begun, come to another file, was paused or has ended',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    broadcastId: Id,
    status: BroadcastStatus,
    item: Type.Integer({ description: 'The file that is played, counted from 0' }),
    itemCount: Type.Integer({ description: 'How many files it has' }),
    assetId: Nullable(Type.String({ ...Id, description: 'The asset of that file' })),
    name: Nullable(Type.String({ description: 'Name of that file' })),
    scheduledFor: Nullable(Type.String({ ...Timestamp, description: 'When it begins, if it was scheduled' })),
    error: Nullable(Type.String({ description: 'Why it failed, for people' })),
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
