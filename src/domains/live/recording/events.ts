import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, Timestamp, Type } from '../../../core/schema.ts'
import { RecordingStatus } from '../streams/index.ts'

const { assetId, sessionId, streamId } = EXAMPLE

export const streamRecording = event({
  name: 'recording.updated',
  summary: 'A recording of a live stream has begun, is in the media library or has failed',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    sessionId: Type.String({ ...Id, description: 'The live session that is recorded' }),
    status: RecordingStatus,
    startedAt: Timestamp,
    assetId: Nullable(Type.String({ ...Id, description: 'The file in the media library, when it is `ready`' })),
    duration: Nullable(Type.Number({ description: 'Seconds' })),
    error: Nullable(Type.String({ description: 'Why there is none, for people' })),
  }),
  example: { streamId, sessionId, status: 'ready', startedAt: EXAMPLE_TIME, assetId, duration: 1_804.4, error: null },
})
