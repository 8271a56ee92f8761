import { spansOf } from '../../../../platforms/rules/spans.ts'
import { asHashtag, hashtagsIn } from './hashtags.ts'

/** A caption as a provider proposes it. The hashtags are not in the text. */
export interface CaptionDraft {
  readonly title: string | null
  readonly text: string
  readonly hashtags: readonly string[]
}

/** The settings of a workspace that every caption keeps to, from any provider. */
export interface CaptionRules {
  readonly hashtagCount: number
  readonly bannedWords: readonly string[]
  readonly emoji: 'none' | 'few' | 'many'
}

/** How many emoji a caption may have. */
const MAX_EMOJI = { none: 0, few: 3, many: 10 } as const
const EMOJI = /\p{RGI_Emoji}|\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F?/gv
/** Control characters except the line feed, and characters that change the direction of text or are not visible. */
const HIDDEN =
  /(?!\n)[\p{Cc}\u00AD\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFFE\uFFFF]|[\u{E0000}-\u{E007F}]/gu

/**
 * Makes a proposal keep to the rules. Links and mentions stay only if the caller wrote them: a provider can be talked
 * into others by text in a file or in a past post.
 * @param asked the text of the request
 * @returns undefined if nothing remains
 */
export function polish(draft: CaptionDraft, rules: CaptionRules, asked: string): CaptionDraft | undefined {
  const clean = (text: string) => tidy(limitEmoji(withoutWords(ownSpans(plain(text), asked), rules.bannedWords), rules))
  const text = clean(draft.text)
  const title = draft.title === null ? '' : clean(draft.title).replaceAll('\n', ' ')
  const given = draft.hashtags.flatMap((tag) => asHashtag(plain(tag).replaceAll('#', '')) ?? [])
  const hashtags = unique([...given, ...hashtagsIn(plain(draft.text))])
    .filter((tag) => !isBanned(tag, rules.bannedWords))
    .slice(0, rules.hashtagCount)
  return text === '' ? undefined : { title: title === '' ? null : title, text, hashtags }
}

/** The emoji of a text, in order. */
export function emojiIn(text: string): string[] {
  return (text.match(EMOJI) ?? []).filter((one) => !/^[\d#*]$/.test(one))
}

function plain(text: string): string {
  return text.toWellFormed().normalize('NFC').replaceAll(/\r\n?/g, '\n').replaceAll(HIDDEN, '')
}

/** Without hashtags, which follow the text, and without links and mentions that the caller did not write. */
function ownSpans(text: string, asked: string): string {
  const own = new Set(spansOf(asked).map(({ end, start }) => asked.slice(start, end).toLowerCase()))
  let kept = ''
  let at = 0
  for (const { end, kind, start } of spansOf(text)) {
    const span = text.slice(start, end)
    const stays = kind === 'hashtag' ? span.startsWith('$') : own.has(span.toLowerCase())
    kept += text.slice(at, start) + (stays ? span : '')
    at = end
  }
  return kept + text.slice(at)
}

function withoutWords(text: string, words: readonly string[]): string {
  let left = text
  for (const word of words) {
    const pattern = wordPattern(word)
    if (pattern === undefined) continue
    // Removing one can join the parts of another. A text in which that goes on is none that anybody would publish.
    for (let round = 0; pattern.test(left); round += 1) {
      if (round === MAX_ROUNDS) return ''
      left = left.replaceAll(pattern, ' ')
    }
  }
  return left
}

/** How often a text is searched for a word that is not wanted. */
const MAX_ROUNDS = 10

/** Whether a text contains a word that the workspace does not want. */
export function isBanned(text: string, words: readonly string[]): boolean {
  const isTag = text.startsWith('#')
  const joined = text.toLowerCase()
  return words.some((word) => {
    const bare = word.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '')
    return wordPattern(word)?.test(text) === true || (isTag && bare !== '' && joined.includes(bare))
  })
}

/** Finds a word or phrase as a whole. Scripts without spaces between words have no ends of words to look for. */
function wordPattern(word: string): RegExp | undefined {
  const parts = word
    .normalize('NFC')
    .split(/\s+/u)
    .filter(Boolean)
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`))
  if (parts.length === 0) return undefined
  const spaced =
    !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u.test(word)
  const [before, after] = spaced ? ['(?<![\\p{L}\\p{N}\\p{M}])', '(?![\\p{L}\\p{N}\\p{M}])'] : ['', '']
  return new RegExp(before + parts.join('\\s+') + after, 'giu')
}

function limitEmoji(text: string, { emoji }: CaptionRules): string {
  let left = MAX_EMOJI[emoji]
  return text.replaceAll(EMOJI, (one) => {
    if (/^[\d#*]$/.test(one)) return one
    left -= 1
    return left >= 0 ? one : ''
  })
}

function tidy(text: string): string {
  return text
    .replaceAll(/[^\S\n]+/gu, ' ')
    .replaceAll(/ (?=[,.;:!?\n]|$)/gu, '')
    .replaceAll(/\n /g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .replace(/^[\s,.;:!?]+(?=[\p{L}\p{N}])/u, '')
    .trim()
}

function unique(tags: readonly string[]): string[] {
  return [...new Map(tags.toReversed().map((tag) => [tag.toLowerCase(), tag])).values()].toReversed()
}
