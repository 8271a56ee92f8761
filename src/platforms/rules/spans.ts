import { withoutPunctuation } from '../link-card.ts'

/** A part of a text that means something as a whole, and must not be cut. Offsets are UTF-16 units. */
export interface Span {
  readonly kind: 'link' | 'mention' | 'hashtag'
  readonly start: number
  readonly end: number
}

const LINK =
  /(?<![@\p{L}\p{N}_.-])(?:(?:https?:\/\/|www\.)[^\s<>]+|[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?)*\.\p{L}{2,}(?:[/?#][^\s<>]*)?)/giu
/** `@name`, and `@name@server` as in the fediverse. */
const MENTION = /(?<![\p{L}\p{N}_/.@])@[\w][\w.-]*(?:@[\p{L}\p{N}][\p{L}\p{N}.-]*)?/gu
/** `#word` with at least one letter, and `$TICKER`. */
const HASHTAG = /(?<![\p{L}\p{N}_&/])(?:[#＃][\p{L}\p{N}\p{M}_·]*[\p{L}_][\p{L}\p{N}\p{M}_·]*|\$[A-Za-z]{1,6}\b)/gu

/** The last text, because a post is checked for one platform after the other. */
let last: { readonly text: string; readonly spans: readonly Span[] } = { text: '', spans: [] }

/** The links, mentions and hashtags of a text, in order and without overlaps. */
export function spansOf(text: string): readonly Span[] {
  if (last.text !== text) last = { text, spans: findSpans(text) }
  return last.spans
}

/** The first `http` or `https` URL of a text, without the punctuation of its sentence. */
export function firstUrl(text: string): string | undefined {
  for (const { end, kind, start } of spansOf(text)) {
    const url = withoutPunctuation(text.slice(start, end))
    if (kind === 'link' && /^https?:\/\//i.test(url) && URL.canParse(url)) return url
  }
  return undefined
}

function findSpans(text: string): readonly Span[] {
  if (!/[@#＃$.]/.test(text)) return []
  const found = [
    ...matches(text, LINK, 'link'),
    ...matches(text, MENTION, 'mention'),
    ...matches(text, HASHTAG, 'hashtag'),
  ]
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  const spans: Span[] = []
  for (const span of found) if (span.start >= (spans.at(-1)?.end ?? 0)) spans.push(span)
  return spans
}

function matches(text: string, pattern: RegExp, kind: Span['kind']): Span[] {
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ kind, start: index, end: index + found.length }))
}
