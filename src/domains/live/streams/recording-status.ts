import { States, type Static } from '../../../core/schema.ts'

export const RecordingStatus = States('RecordingStatus', 'How a recording of a live stream is doing', {
  recording: 'The file is being written',
  ready: 'The file is in the media library, as `assetId`',
  failed: 'There is no recording, for the reason in `error`',
})
export type RecordingStatus = Static<typeof RecordingStatus>
