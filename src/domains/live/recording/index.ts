/** What other domains and the composition use of recording. */

export { RecordingKeeper, type RecordingSettings } from './recording-keeper.ts'
export { composeRecording } from './compose.ts'
export { recordingsOfSessions } from './store.ts'
