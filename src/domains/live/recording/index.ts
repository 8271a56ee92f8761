/** What other domains and the composition use of recording. */

export { RecordingKeeper, type RecordingSettings } from './recording-keeper.ts'
export { Recordings } from './service.ts'
export { purgeRecordings, recordingsOfSessions } from './store.ts'
