import { pageFields } from '../../../core/page.ts'
import { Id, Input, named, Nullable, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { RecordingStatus } from './recording-status.ts'
import { DestinationStatus, EndReason, FaultView } from './schemas.ts'

export const SessionQuery = Input(pageFields)

const Destination = Type.Object({
  destinationId: Id,
  platform: Type.String(),
  accountId: Id,
  name: Type.String(),
  status: DestinationStatus,
  lastError: Nullable(FaultView),
})
export type SessionDestination = Static<typeof Destination>

export const StreamSessionView = named(
  'StreamSession',
  Type.Object({
    _id: Id,
    streamId: Id,
    startedAt: Timestamp,
    endedAt: Nullable(Timestamp),
    endReason: Nullable(EndReason),
    duration: Type.Integer({ description: 'Seconds from going live to the end, or until now' }),
    liveSeconds: Type.Integer({ description: 'Seconds with incoming media. They count against the plan' }),
    peakViewers: Type.Integer({ description: 'Most viewers that the preview had at the same time' }),
    destinations: Type.Array(Destination),
    recordings: Type.Array(
      Type.Object({
        assetId: Nullable(Id),
        status: RecordingStatus,
        startedAt: Timestamp,
        duration: Nullable(Type.Number({ description: 'Seconds' })),
        size: Nullable(Type.Integer({ description: 'Bytes' })),
        error: Nullable(Type.String()),
      }),
      { description: 'Recordings of the session. Each becomes an asset when it is complete' },
    ),
    recordingAssetId: Nullable(Type.String({ ...Id, description: 'The first recording in the media library' })),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)
