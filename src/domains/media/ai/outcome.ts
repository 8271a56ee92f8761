import type { CaptionRow, TranscriptRow } from './tables.ts'
import type { AnalysisData, IgnoredSetting, StyleData } from './schemas.ts'

/** A caption without what follows from its job. */
export type NewCaptionRow = Omit<
  CaptionRow,
  'id' | 'workspaceId' | 'aiJobId' | 'assetId' | 'createdAt' | 'updatedAt' | 'hashtags'
> & { readonly hashtags: readonly string[] }

/** A transcript without what follows from its job. */
export type NewTranscriptRow = Pick<TranscriptRow, 'language' | 'durationSeconds' | 'segments' | 'origin' | 'model'>

/** How a job has ended. It is plain data, because the turn that records it may run on another node. */
export type AiOutcome =
  | {
      readonly state: 'done'
      /** At most what was reserved. */
      readonly creditsUsed: number
      readonly captions: readonly NewCaptionRow[]
      readonly style: StyleData | null
      readonly transcript: NewTranscriptRow | null
      readonly analysis?: AnalysisData
      /** Fingerprints of the texts that a model wrote. */
      readonly prints?: readonly string[]
      readonly ignoredSettings: readonly IgnoredSetting[]
    }
  | { readonly state: 'failed'; readonly error: string }
