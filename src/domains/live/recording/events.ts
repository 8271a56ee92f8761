import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, Timestamp, Type } from '../../../core/schema.ts'
import { RecordingStatus } from '../streams/index.ts'

const { assetId, sessionId, streamId } = EXAMPLE

export const streamRecording = event({
  name: 'recording.updated',
  summary: 'A recording of a live stream has started, is in the media library, or has failed',
  scope: 'streams:read',
  data: Type.Object({
    streamId: Id,
    sessionId: Type.String({ ...Id, description: 'Session that is recorded' }),
    status: RecordingStatus,
    startedAt: Timestamp,
    assetId: Nullable(Type.String({ ...Id, description: 'Asset in the media library, once the recording is `ready`' })),
    duration: Nullable(Type.Number({ description: 'Length in seconds' })),
    error: Nullable(Type.String({ description: 'Why the recording failed, as text for people' })),
  }),
  example: { streamId, sessionId, status: 'ready', startedAt: EXAMPLE_TIME, assetId, duration: 1_804.4, error: null },
})
