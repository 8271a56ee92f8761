import { hashtagsIn, rankHashtags, type PastText } from './hashtags.ts'
import { countText } from '../../../../platforms/rules/counting.ts'
import { emojiIn } from './polish.ts'
import type { StyleData } from '../schemas.ts'
import { sentencesOf } from './sentences.ts'

/** Fewer posts do not show a style. */
export const MIN_POSTS = 3
const TOP_HASHTAGS = 10
const EXAMPLES = 3
const EXCERPT = 140

/** What past posts have in common, each finding with posts that show it. */
export async function styleOf(posts: readonly PastText[]): Promise<StyleData> {
  const length = (text: string) => countText('graphemes', text)
  const lengths = posts.map(({ text }) => length(text))
  const tagCount = median(posts.map(({ text }) => hashtagsIn(text).length))
  const emojiCount = median(posts.map(({ text }) => emojiIn(text).length))
  const emoji = emojiCount === 0 ? 'none' : emojiCount <= 3 ? 'few' : 'many'
  const language = await languageOf(posts.map(({ text }) => text).join('\n'))
  const middle = median(lengths)
  const closing = closingOf(posts)
  const asked = posts.filter(({ text }) => /[?？]/u.test(text))
  const typical = posts.toSorted((a, b) => Math.abs(length(a.text) - middle) - Math.abs(length(b.text) - middle))
  const tagged = posts.filter(({ text }) => hashtagsIn(text).length === tagCount)
  const decorated = posts.filter(({ text }) => emojiIn(text).length > 0)
  const findings = [
    { summary: `Half of the posts have at most ${middle} characters.`, examples: examplesOf(typical) },
    { summary: `A typical post has ${counted(tagCount, 'hashtag')}.`, examples: examplesOf(tagged) },
    emojiCount === 0
      ? { summary: 'Most posts have no emoji.', examples: examplesOf(posts.filter((one) => !decorated.includes(one))) }
      : { summary: `A typical post has ${counted(emojiCount, 'emoji', 'emoji')}.`, examples: examplesOf(decorated) },
    ...(asked.length * 2 > posts.length
      ? [{ summary: 'Most posts ask a question.', examples: examplesOf(asked) }]
      : []),
    ...(closing === undefined
      ? []
      : [{ summary: `Several posts end with “${closing.text}”.`, examples: examplesOf(closing.posts) }]),
  ]
  return {
    postCount: posts.length,
    language: language ?? null,
    typicalLength: middle,
    topHashtags: rankHashtags(posts).slice(0, TOP_HASHTAGS),
    findings,
    suggestedSettings: { language: language ?? null, hashtagCount: Math.min(30, tagCount), emoji },
  }
}

/** The sentence with which at least two posts end. */
export function closingOf(
  posts: readonly PastText[],
): { readonly text: string; readonly posts: readonly PastText[] } | undefined {
  const found = new Map<string, PastText[]>()
  for (const post of posts) {
    const bare = hashtagsIn(post.text).reduce((text, tag) => text.replaceAll(tag, ''), post.text)
    const sentences = sentencesOf(bare)
    const last = sentences.at(-1)
    if (last === undefined || sentences.length < 2 || last.length > 100) continue
    found.set(last, [...(found.get(last) ?? []), post])
  }
  const [best] = [...found].toSorted((a, b) => b[1].length - a[1].length)
  return best !== undefined && best[1].length > 1 ? { text: best[0], posts: best[1] } : undefined
}

/** A language tag, if the text shows its language clearly. */
export async function languageOf(text: string): Promise<string | undefined> {
  // Its tables take 200 ms to read, so they are loaded when they are needed.
  const { eld } = await import('eld/extrasmall')
  const found = eld.detect(text)
  return found.language !== '' && found.isReliable() ? found.language : undefined
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
}

function examplesOf(posts: readonly PastText[]) {
  return posts.slice(0, EXAMPLES).map(({ postId, text }) => {
    const excerpt = text.length > EXCERPT ? `${text.slice(0, EXCERPT).toWellFormed()}…` : text
    return { postId, excerpt }
  })
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
