/** What other domains and the composition use of recording. */

export { NodeRecordings, type RecordingSettings } from './node-recordings.ts'
