import { chooseHashtags } from '../text/hashtags.ts'
import type { CaptionDraft } from '../text/polish.ts'
import { sentencesOf, summarize, titleOfFile } from '../text/sentences.ts'
import {
  ProviderError,
  type AiProvider,
  type Analysis,
  type AnalysisTask,
  type CaptionSubject,
  type CaptionTask,
  type Drafts,
} from './provider.ts'

/** Sentences of the longest summary. */
const MAX_SENTENCES = 3
/** Facts of an analysis. */
const MAX_FACTS = 20
/** Emoji that captions get, by setting. */
const EMOJI_COUNT = { none: 0, few: 1, many: 3 } as const

/**
 * Writes captions without a model. It selects sentences that are there, and joins them with what past posts have in
 * common. It invents nothing, so it may find fewer captions than were asked for.
 */
export const builtIn: AiProvider = {
  key: 'built_in',
  origin: 'selected',
  captions: (task) => Promise.resolve(captions(task)),
  analysis: (task) => Promise.resolve(analysis(task)),
}

function captions({ settings, subject, variantCount }: CaptionTask): Drafts {
  const material = materialOf(subject)
  if (material === '') {
    throw new ProviderError(
      'The built-in provider found nothing to write about: the asset has no alt text, no tags and no telling name. Add one of them, or send a text.',
      false,
    )
  }
  const hashtags = chooseHashtags(
    material,
    subject.asset?.tags ?? [],
    subject.past.hashtags,
    // Some may contain words that the workspace does not want, and are left out later.
    settings.hashtagCount * 2,
  )
  const emoji = subject.past.emoji.slice(0, EMOJI_COUNT[settings.emoji]).join('')
  const title = sentencesOf(material)[0] ?? null
  const drafts = textsOf(material, subject.past.closing)
    .slice(0, variantCount)
    .map((text): CaptionDraft => ({ title, text: emoji === '' ? text : `${text} ${emoji}`, hashtags }))
  return { drafts, ignoredSettings: ['tone', 'language'], promptVersion: null }
}

/** The facts themselves. It draws no conclusions, and cannot answer a question. */
function analysis({ facts, question }: AnalysisTask): Analysis {
  return {
    sentences: facts
      .slice(0, MAX_FACTS)
      .map(({ factNumber, statement }) => ({ text: statement, factNumbers: [factNumber] })),
    ignoredSettings: ['tone', 'language', ...(question === null ? [] : (['question'] as const))],
    promptVersion: null,
  }
}

/** What there is to say: the text of the caller, else the alt text, else the name of the file and the tags. */
function materialOf({ asset, text }: CaptionSubject): string {
  if (text !== null && text.trim() !== '') return text.trim()
  if (asset === null) return ''
  const { altText, name, tags } = asset
  return altText.trim() || (titleOfFile(name) ?? '') || tags.join(', ')
}

/** Different captions of the same material: a summary, its best sentence, and both with the usual closing. */
function textsOf(material: string, closing: string | null): string[] {
  const summary = summarize(material, MAX_SENTENCES).join(' ')
  const best = summarize(material, 1).join(' ')
  const two = summarize(material, 2).join(' ')
  const closed = closing === null ? [] : [`${summary}\n\n${closing}`, `${best}\n\n${closing}`]
  const [first] = closed
  return [...new Set([summary, ...(first === undefined ? [] : [first]), best, two, ...closed])].filter(Boolean)
}
