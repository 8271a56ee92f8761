import { hash } from 'node:crypto'

/** Words in a run that gets a fingerprint. */
const RUN = 8
/** Of this many consecutive fingerprints one is kept, so that a shared run of 11 words is always found. */
const WINDOW = 4
/**
 * Sentences of these lengths get a fingerprint. Shorter ones are common, such as “Link in bio.”. Longer ones have runs.
 */
const SENTENCE = { least: 5, most: RUN + WINDOW - 2 }
/** A shorter text gets no fingerprint as a whole, because anybody could have written it. */
const LEAST_WORDS = 3
/** The longest text of a platform has about 12,000. */
const MOST_WORDS = 20_000

const WORDS = new Intl.Segmenter('en', { granularity: 'word' })

/**
 * Fingerprints of a text: of the whole, of its shorter sentences, and of runs of words. Two texts share one if they are
 * the same, or share such a sentence or 11 words in sequence. Case, punctuation, emoji, hashtags, mentions and links do
 * not count. Runs are sampled by winnowing (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD 2003).
 */
export function printsOf(text: string): string[] {
  const words: string[] = []
  const prints = new Set<string>()
  for (const sentence of sentencesOf(text)) {
    const own = wordsOf(sentence)
    if (own.length >= SENTENCE.least && own.length <= SENTENCE.most) prints.add(printOf(own))
    words.push(...own)
    if (words.length > MOST_WORDS) break
  }
  if (words.length >= LEAST_WORDS) prints.add(printOf(words))
  for (const print of winnowed(runsOf(words))) prints.add(print)
  return [...prints]
}

/** Fingerprints of texts without those of texts that were there before. */
export function newPrints(texts: readonly string[], before: readonly string[]): string[] {
  const known = new Set(before.flatMap(printsOf))
  return [...new Set(texts.flatMap(printsOf))].filter((print) => !known.has(print))
}

function sentencesOf(text: string): string[] {
  const plain = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/(?:https?:\/\/|www\.)\S+|[#@][\p{L}\p{N}_]+/gu, ' ')
  return plain.split(/(?<=[.!?…])\s|(?<=。)|\n/u)
}

function wordsOf(sentence: string): string[] {
  return [...WORDS.segment(sentence)].flatMap(({ isWordLike, segment }) => (isWordLike === true ? segment : []))
}

function printOf(words: readonly string[]): string {
  return hash('sha1', words.join(' '), 'base64url').slice(0, 10)
}

function runsOf(words: readonly string[]): string[] {
  return Array.from({ length: Math.max(0, words.length - RUN + 1) }, (_, at) => printOf(words.slice(at, at + RUN)))
}

/** The smallest fingerprint of each window. */
function winnowed(runs: readonly string[]): string[] {
  const count = runs.length === 0 ? 0 : Math.max(1, runs.length - WINDOW + 1)
  return Array.from({ length: count }, (_, at) =>
    runs.slice(at, at + WINDOW).reduce((least, one) => (one < least ? one : least)),
  )
}
