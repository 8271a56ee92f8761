import { spansOf } from '../../../../platforms/rules/spans.ts'

/** The parts of a published post that captions learn from. */
export interface PastText {
  readonly postId: string
  readonly text: string
  /** Accounts that published it, and accounts that refused it. */
  readonly publishedCount: number
  readonly failedCount: number
}

/** How a hashtag did in past posts. */
export interface HashtagRecord {
  /** With the sign, as it was written most often. */
  readonly hashtag: string
  readonly publishedCount: number
  readonly failedCount: number
}

/** Words of this length at least become hashtags. */
const MIN_LETTERS = 4

/** The hashtags of a text, with their signs. Tickers such as `$ABC` are left out. */
export function hashtagsIn(text: string): string[] {
  return spansOf(text)
    .filter(({ kind }) => kind === 'hashtag')
    .map(({ end, start }) => text.slice(start, end).replace('＃', '#'))
    .filter((tag) => tag.startsWith('#'))
}

/** The hashtags of past posts, the most successful first: often published, and rarely refused. */
export function rankHashtags(posts: readonly PastText[]): HashtagRecord[] {
  const found = new Map<string, { spellings: Map<string, number>; published: number; failed: number }>()
  for (const { failedCount, publishedCount, text } of posts) {
    for (const tag of new Set(hashtagsIn(text))) {
      const key = tag.toLowerCase()
      const record = found.get(key) ?? { spellings: new Map<string, number>(), published: 0, failed: 0 }
      record.spellings.set(tag, (record.spellings.get(tag) ?? 0) + 1)
      record.published += publishedCount
      record.failed += failedCount
      found.set(key, record)
    }
  }
  return [...found.values()]
    .map(({ failed, published, spellings }) => ({
      hashtag: [...spellings].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? '',
      publishedCount: published,
      failedCount: failed,
    }))
    .toSorted((a, b) => scoreOf(b) - scoreOf(a) || (a.hashtag < b.hashtag ? -1 : 1))
}

/** The share of successes, with one success and one failure added so that a few uses prove little, times its weight. */
function scoreOf({ failedCount, publishedCount }: HashtagRecord): number {
  return ((publishedCount + 1) / (publishedCount + failedCount + 2)) * Math.log2(1 + publishedCount)
}

/**
 * Hashtags for a text: its tags, then hashtags of past posts whose word is in the text, then the most successful ones,
 * then words that the text stresses.
 */
export function chooseHashtags(
  text: string,
  tags: readonly string[],
  past: readonly HashtagRecord[],
  count: number,
): string[] {
  const words = new Set(wordsOf(text).map((word) => word.toLowerCase()))
  const used = past.filter(({ publishedCount }) => publishedCount > 0).map(({ hashtag }) => hashtag)
  const fitting = used.filter((tag) => words.has(tag.slice(1).toLowerCase()))
  const chosen = new Map<string, string>()
  const own = tags.map(asHashtag).filter((tag) => tag !== undefined)
  for (const tag of [...own, ...fitting, ...used, ...stressed(text)]) {
    const key = tag.toLowerCase()
    if (chosen.size < count && !chosen.has(key)) chosen.set(key, tag)
  }
  return [...chosen.values()]
}

/** A name as a hashtag: `summer tour` becomes `#SummerTour`. Undefined if nothing remains that platforms link. */
export function asHashtag(name: string): string | undefined {
  const words = wordsOf(name)
  const [only = ''] = words
  const joined =
    words.length === 1 ? only : words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
  const [tag] = hashtagsIn(`#${joined}`)
  return tag !== undefined && tag.length === joined.length + 1 ? tag : undefined
}

/** Words that are written with a capital within a sentence, or more than once. */
function stressed(text: string): string[] {
  const counts = new Map<string, { word: string; count: number }>()
  for (const match of text.matchAll(/[\p{L}\p{M}]+/gu)) {
    const [word] = match
    if (word.length < MIN_LETTERS) continue
    const isName = /^\p{Lu}/u.test(word) && /[\p{L}\p{N},] $/u.test(text.slice(0, match.index))
    const known = counts.get(word.toLowerCase()) ?? { word, count: 0 }
    known.count += isName ? 2 : 1
    counts.set(word.toLowerCase(), known)
  }
  return [...counts.values()]
    .filter(({ count }) => count > 1)
    .toSorted((a, b) => b.count - a.count)
    .flatMap(({ word }) => asHashtag(word) ?? [])
}

export function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
}
