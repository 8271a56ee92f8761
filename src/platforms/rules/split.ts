import { spansOf } from './spans.ts'

/** A part of a text, with what is added at its end. Offsets are UTF-16 units. */
export interface TextPart {
  readonly start: number
  readonly end: number
  readonly added: string
}

export interface SplitOptions {
  /** Whether a text fits as the part with this index. */
  readonly fits: (text: string, index: number) => boolean
  readonly mostParts: number
  /** Adds ` 1/3` to each part. */
  readonly numbered?: boolean
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' })
const WORDS = new Intl.Segmenter('en', { granularity: 'word' })
const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * How much of the possible length a part must use to end at a border, by kind: paragraph, sentence, space, word, grapheme.
 * A part that ends earlier would be too short.
 */
const LEAST_SHARES = [0.5, 0.5, 0.5, 0, 0] as const

/**
 * Splits a text at the ends of paragraphs, sentences or words, and never inside a link, mention, hashtag or grapheme.
 * The parts are slices of the text, in order; only whitespace between them is left out.
 * @returns undefined if that is not possible
 */
export function splitText(text: string, { fits, mostParts, numbered = false }: SplitOptions): TextPart[] | undefined {
  if (!numbered) return cut(text, fits, mostParts)
  for (let total = 2; total <= mostParts; total += 1) {
    const fitsWithNumber = (part: string, index: number) => fits(`${part}${number(index, total)}`, index)
    const parts = cut(text, fitsWithNumber, total)
    if (parts?.length === total) return parts.map((part, index) => ({ ...part, added: number(index, total) }))
    // Fewer parts than `total`: the text fits into one. A larger total would not make the numbers shorter.
    if (parts !== undefined && parts.length < total) return undefined
  }
  return undefined
}

/** The text of a part. */
export function textOf(text: string, { added, end, start }: TextPart): string {
  return `${text.slice(start, end)}${added}`
}

function number(index: number, total: number): string {
  return ` ${index + 1}/${total}`
}

function cut(text: string, fits: SplitOptions['fits'], mostParts: number): TextPart[] | undefined {
  const borders = bordersOf(text)
  const parts: TextPart[] = []
  let start = skipSpace(text, 0)
  const end = text.trimEnd().length
  while (start < end) {
    if (parts.length === mostParts) return undefined
    const index = parts.length
    const fitsUntil = (offset: number) => fits(text.slice(start, offset).trimEnd(), index)
    const stop = fitsUntil(end) ? end : bestEnd(borders, start, end, fitsUntil)
    if (stop === undefined) return undefined
    parts.push({ start, end: start + text.slice(start, stop).trimEnd().length, added: '' })
    start = skipSpace(text, stop)
  }
  return parts
}

/** Where a text may be cut, from the best kind of border to the worst, each in ascending order. */
type Borders = readonly (readonly number[])[]

function bordersOf(text: string): Borders {
  const spans = spansOf(text)
  let next = 0
  const outside = (offset: number) => {
    while (next < spans.length && (spans[next]?.end ?? 0) <= offset) next += 1
    return (spans[next]?.start ?? Infinity) >= offset
  }
  const allowed = (offsets: Iterable<number>) => {
    next = 0
    return [...offsets].filter((offset) => offset > 0 && outside(offset))
  }
  const starts = (segmenter: Intl.Segmenter) => Array.from(segmenter.segment(text), ({ index }) => index)
  const graphemes = new Set(starts(GRAPHEMES))
  const words = Array.from(WORDS.segment(text)).filter(({ isWordLike }) => isWordLike)
  const within = (offsets: number[]) => offsets.filter((offset) => graphemes.has(offset))
  return [
    within(allowed([...text.matchAll(/\n\s*\n/g)].map(({ index }) => index))),
    within(allowed(starts(SENTENCES))),
    within(allowed([...text.matchAll(/\s+/g)].map(({ index }) => index))),
    within(allowed(words.map(({ index }) => index))),
    allowed(graphemes),
  ]
}

/** The end of the next part: the furthest border of the best kind that makes a part of sufficient length. */
function bestEnd(
  borders: Borders,
  start: number,
  end: number,
  fitsUntil: (offset: number) => boolean,
): number | undefined {
  const furthest = furthestEnd(borders.at(-1) ?? [], start, end, fitsUntil)
  if (furthest === undefined) return undefined
  for (const [kind, offsets] of borders.entries()) {
    const last = offsets.findLast((offset) => offset <= furthest && offset > start && fitsUntil(offset))
    if (last !== undefined && last - start >= (furthest - start) * (LEAST_SHARES[kind] ?? 0)) return last
  }
  return furthest
}

/**
 * Finds the furthest end that fits, by binary search. A longer text usually counts more, but the text after a link can
 * change the link. So the search also checks the ends below its result.
 */
function furthestEnd(
  offsets: readonly number[],
  start: number,
  end: number,
  fitsUntil: (offset: number) => boolean,
): number | undefined {
  let low = offsets.findIndex((offset) => offset > start)
  let high = offsets.findLastIndex((offset) => offset < end)
  if (low === -1) return undefined
  const first = low
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fitsUntil(offsets[middle] ?? end)) low = middle
    else high = middle - 1
  }
  for (let index = low; index >= first; index -= 1) {
    const offset = offsets[index] ?? end
    if (fitsUntil(offset)) return offset
  }
  return undefined
}

function skipSpace(text: string, from: number): number {
  const rest = text.slice(from)
  return from + rest.length - rest.trimStart().length
}
