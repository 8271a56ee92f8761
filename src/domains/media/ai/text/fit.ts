import type { PostContent, PostMedia } from '../../../../platforms/content.ts'
import type { Platform } from '../../../../platforms/platform.ts'
import { check } from '../../../../platforms/rules/engine.ts'
import { numberOf, type Limits } from '../../../../platforms/rules/limits.ts'
import type { CaptionDraft } from './polish.ts'
import { sentencesOf } from './sentences.ts'

/** A caption that a platform takes as it is. */
export interface FittedCaption {
  readonly title: string | null
  /** With the hashtags at its end. */
  readonly text: string
  readonly hashtags: readonly string[]
  readonly shortened: boolean
}

export interface FitTarget {
  readonly platform: Pick<Platform, 'title' | 'options'>
  readonly limits: Limits
  readonly media: readonly PostMedia[]
}

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The text of a caption with its hashtags. */
export function composed(text: string, hashtags: readonly string[]): string {
  return hashtags.length === 0 ? text : `${text}\n\n${hashtags.join(' ')}`
}

/**
 * Shortens a caption until the rules of a platform take it: first its hashtags, then its text, at the end of a sentence
 * or a word.
 * @returns undefined if the platform takes no text of it at all
 */
export function fit(draft: CaptionDraft, target: FitTarget): FittedCaption | undefined {
  const needsTitle = numberOf(target.limits, 'title.required') === 1
  const takes = (pointer: string, text: string, title: string | null) => isTaken(target, pointer, text, title)
  const wanted = draft.title ?? (needsTitle ? (sentencesOf(draft.text)[0] ?? draft.text) : null)
  const hasTitles = target.limits.byId.has('title.max') || target.limits.byId.has('title.maxWithImages')
  const title = wanted === null || !hasTitles ? null : cut(wanted, (text) => takes('/title', draft.text, text))
  if (title === undefined) return undefined
  // Without hashtags, if the text alone is too long.
  const most = takes('/text', draft.text, title) ? draft.hashtags.length : -1
  for (let count = most; count >= 0; count -= 1) {
    const hashtags = draft.hashtags.slice(0, count)
    const text = composed(draft.text, hashtags)
    if (takes('/text', text, title)) return { title, text, hashtags, shortened: count < draft.hashtags.length }
  }
  const text = cut(draft.text, (part) => takes('/text', part, title))
  return text === undefined ? undefined : { title, text, hashtags: [], shortened: true }
}

function isTaken({ limits, media, platform }: FitTarget, pointer: string, text: string, title: string | null): boolean {
  const content: PostContent = { text, media, ...(title !== null && { title }), options: {} }
  return check(platform, limits, content).every(
    (problem) => problem.severity !== 'error' || problem.pointer !== pointer,
  )
}

/** The longest beginning of a text that fits, with `…` if something was cut. Undefined if not even one character fits. */
function cut(text: string, fits: (text: string) => boolean): string | undefined {
  if (fits(text)) return text
  const parts = [...GRAPHEMES.segment(text)].map(({ segment }) => segment)
  const begin = (count: number) => `${parts.slice(0, count).join('').trimEnd()}…`
  let low = 0
  let high = 1
  // Counting a long text is slow, so the search begins with short ones.
  while (high < parts.length && fits(begin(high))) [low, high] = [high, high * 2]
  high = Math.min(high, parts.length) - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(begin(middle))) low = middle
    else high = middle - 1
  }
  if (low === 0) return undefined
  const longest = parts.slice(0, low).join('')
  // A whole sentence is better than half a sentence more, and a whole word than half a word more.
  const sentence = /^[^]*[.!?。！？](?=\s|$)/u.exec(longest)?.[0]
  if (sentence !== undefined && sentence.length > longest.length / 2 && fits(sentence)) return sentence
  const words = /^[^]*\S(?=\s)/u.exec(longest)?.[0]
  const shorter = words !== undefined && words.length > longest.length / 2 ? `${words}…` : undefined
  return shorter !== undefined && fits(shorter) ? shorter : begin(low)
}
