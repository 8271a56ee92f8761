import { spansOf, type Span } from './spans.ts'

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
  /** Only the first part is needed. */
  readonly firstOnly?: boolean
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
const MIN_SHARES = [0.5, 0.5, 0.5, 0, 0] as const

/**
 * Splits a text at the ends of paragraphs, sentences or words, and never inside a link, mention, hashtag or grapheme.
 * The parts are slices of the text, in order; only whitespace between them is left out.
 * @returns undefined if that is not possible
 */
export function splitText(
  text: string,
  { firstOnly = false, fits, mostParts, numbered = false }: SplitOptions,
): TextPart[] | undefined {
  if (!numbered) return cut(text, fits, mostParts, firstOnly)
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

function cut(text: string, fits: SplitOptions['fits'], mostParts: number, firstOnly = false): TextPart[] | undefined {
  const parts: TextPart[] = []
  let start = skipSpace(text, 0)
  const end = text.trimEnd().length
  while (start < end) {
    if (firstOnly && parts.length > 0) return parts
    if (parts.length === mostParts) return undefined
    const index = parts.length
    const fitsUntil = (offset: number) => fits(text.slice(start, offset).trimEnd(), index)
    const over = tooFar(text, start, end, fitsUntil)
    const stop =
      over === undefined
        ? end
        : bestEnd(bordersOf(text, start, Math.min(over + LOOKAHEAD, end)), start, Math.min(over + 1, end), fitsUntil)
    if (stop === undefined) return undefined
    parts.push({ start, end: start + text.slice(start, stop).trimEnd().length, added: '' })
    start = skipSpace(text, stop)
  }
  return parts
}

/** How much of the text after a part is read, so that the borders before it are those of the whole text. */
const LOOKAHEAD = 500
/** Where the search for the end of a part begins. */
const FIRST_STEP = 256

/**
 * An end that does not fit, so that only the text before it has to be searched for borders; undefined if all fits. The
 * steps double, so the work depends on the length of the part and not of the text.
 */
function tooFar(text: string, start: number, end: number, fitsUntil: (offset: number) => boolean): number | undefined {
  const spans = spansOf(text)
  for (let step = FIRST_STEP; ; step *= 2) {
    // Half a link counts other than the whole.
    const at = spanAround(spans, start + step)?.end ?? start + step
    if (at >= end) return fitsUntil(end) ? undefined : end
    if (!fitsUntil(at)) return at
  }
}

/** The span that an offset is inside of. */
function spanAround(spans: readonly Span[], offset: number): Span | undefined {
  const next = spans[firstIndex(spans.length, (index) => (spans[index]?.end ?? 0) > offset)]
  return next !== undefined && next.start < offset ? next : undefined
}

/** The first index from which on a test passes, by binary search; `length` if there is none. */
function firstIndex(length: number, test: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (test(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** Where a text may be cut. */
interface Borders {
  readonly graphemes: readonly number[]
  /** From the best kind of border to the worst, each in ascending order. They are found when they are needed. */
  readonly kinds: readonly (() => readonly number[])[]
}

/** The borders between two offsets. */
function bordersOf(text: string, start: number, end: number): Borders {
  const spans = spansOf(text)
  const part = text.slice(start, end)
  const allowed = (offsets: Iterable<number>) => {
    const list: number[] = []
    for (const offset of offsets) {
      if (offset > 0 && spanAround(spans, start + offset) === undefined) list.push(start + offset)
    }
    return list
  }
  const starts = (segmenter: Intl.Segmenter) => Array.from(segmenter.segment(part), ({ index }) => index)
  const graphemes = starts(GRAPHEMES)
  const isWhole = new Set(graphemes)
  const within = (offsets: number[]) => allowed(offsets.filter((offset) => isWhole.has(offset)))
  const matches = (pattern: RegExp) => [...part.matchAll(pattern)].map(({ index }) => index)
  const words = () => Array.from(WORDS.segment(part)).filter(({ isWordLike }) => isWordLike)
  const ends = allowed(graphemes)
  return {
    graphemes: ends,
    kinds: [
      () => within(matches(/\n\s*\n/g)),
      () => within(starts(SENTENCES)),
      () => within(matches(/\s+/g)),
      () => within(words().map(({ index }) => index)),
      () => ends,
    ],
  }
}

/** The end of the next part: the furthest border of the best kind that makes a part of sufficient length. */
function bestEnd(
  borders: Borders,
  start: number,
  end: number,
  fitsUntil: (offset: number) => boolean,
): number | undefined {
  const furthest = furthestEnd(borders.graphemes, start, end, fitsUntil)
  if (furthest === undefined) return undefined
  for (const [kind, offsetsOf] of borders.kinds.entries()) {
    const offsets = offsetsOf()
    const most = firstIndex(offsets.length, (index) => (offsets[index] ?? 0) > furthest)
    const last = offsets.slice(0, most).findLast((offset) => offset > start && fitsUntil(offset))
    if (last !== undefined && last - start >= (furthest - start) * (MIN_SHARES[kind] ?? 0)) return last
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
  let low = firstIndex(offsets.length, (index) => (offsets[index] ?? 0) > start)
  let high = firstIndex(offsets.length, (index) => (offsets[index] ?? 0) >= end) - 1
  if (low > high) return undefined
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
  let at = from
  while (at < text.length && text.charAt(at).trim() === '') at += 1
  return at
}
