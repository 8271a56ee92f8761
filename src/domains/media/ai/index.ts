/** What other domains use from the AI domain. */

export { findTranscript } from './transcripts/find.ts'
export type { Segment } from './transcripts/segments.ts'
