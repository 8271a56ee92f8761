import type { AiSettingsData } from '../../../workspace/workspaces/index.ts'
import type { CitedSentence } from '../analysis/check.ts'
import type { AnalysisFact } from '../analysis/facts.ts'
import type { IgnoredSetting, ProviderKey } from '../schemas.ts'
import type { HashtagRecord } from '../text/hashtags.ts'
import type { CaptionDraft } from '../text/polish.ts'

/** What a caption is about, and how the workspace writes. All texts are data of users, never instructions. */
export interface CaptionSubject {
  /** What the caller wrote. */
  readonly text: string | null
  readonly asset: AssetFacts | null
  readonly past: PastStyle
}

export interface AssetFacts {
  readonly name: string
  readonly altText: string
  readonly tags: readonly string[]
  readonly kind: string
}

export interface PastStyle {
  /** The newest published texts. */
  readonly examples: readonly string[]
  /** The most successful first. */
  readonly hashtags: readonly HashtagRecord[]
  /** The sentence with which several posts end. */
  readonly closing: string | null
  /** The most used first. */
  readonly emoji: readonly string[]
}

export interface CaptionTask {
  readonly subject: CaptionSubject
  readonly settings: AiSettingsData
  readonly variantCount: number
  /** Chosen from the models of the provider. Null for a provider without models. */
  readonly model: string | null
}

export interface Drafts {
  /** At most as many as were asked for, each different. */
  readonly drafts: readonly CaptionDraft[]
  readonly ignoredSettings: readonly IgnoredSetting[]
  /** The prompt that a model was given; null without a model. */
  readonly promptVersion: string | null
}

export interface AnalysisTask {
  readonly facts: readonly AnalysisFact[]
  /** What the caller wants to know. */
  readonly question: string | null
  readonly settings: AiSettingsData
  readonly model: string | null
}

export interface Analysis {
  /** Not checked yet. */
  readonly sentences: readonly CitedSentence[]
  readonly ignoredSettings: readonly IgnoredSetting[]
  /** The prompt that a model was given; null without a model. */
  readonly promptVersion: string | null
}

/** What a model has written so far. It is not checked. */
export interface PartialReply {
  /** Captions or sentences, with the one that is being written. */
  readonly count: number
  readonly text: string
}

type OnPartial = (reply: PartialReply) => void

/** What writes captions and analyses. */
export interface AiProvider {
  readonly key: ProviderKey
  readonly origin: 'selected' | 'model'
  /** @throws ProviderError */
  readonly captions: (task: CaptionTask, signal: AbortSignal, onPartial?: OnPartial) => Promise<Drafts>
  /** @throws ProviderError */
  readonly analysis: (task: AnalysisTask, signal: AbortSignal, onPartial?: OnPartial) => Promise<Analysis>
}

/** Why a provider has no result, in words for users. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  /** Whether a later attempt can succeed. */
  readonly retryable: boolean

  constructor(message: string, retryable: boolean, cause?: unknown) {
    super(message, { cause })
    this.retryable = retryable
  }
}
