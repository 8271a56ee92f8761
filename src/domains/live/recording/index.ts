/** What other domains and the composition use of recording. */

export { RecordingKeeper, type RecordingSettings } from './recording-keeper.ts'
