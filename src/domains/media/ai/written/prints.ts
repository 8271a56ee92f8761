import { hash } from 'node:crypto'
import { Slices } from '../../../../core/slices.ts'

/** Words in a run that gets a fingerprint. */
const RUN = 8
/** Of this many consecutive fingerprints one is kept, so that a shared run of 11 words is always found. */
const WINDOW = 4
/**
 * Sentences of these lengths get a fingerprint. Shorter ones are common, such as “Link in bio.”. Longer ones have runs.
 */
const SENTENCE = { least: 5, most: RUN + WINDOW - 2 }
/** A shorter text gets no fingerprint as a whole, because anybody could have written it. */
const MIN_WORDS = 3
/** The longest text of a platform has about 12,000. */
const MAX_WORDS = 20_000

const WORDS = new Intl.Segmenter('en', { granularity: 'word' })

/**
 * Fingerprints of a text: of the whole, of its shorter sentences, and of runs of words. Two texts share one if they are
 * the same, or share such a sentence or 11 words in sequence. Case, punctuation, emoji, hashtags, mentions and links do
 * not count. Runs are sampled by winnowing (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD 2003).
 */
export function printsOf(text: string): string[] {
  const prints = new Set<string>()
  for (const _ of printing(text, prints));
  return [...prints]
}

/** The fingerprints of texts, made in slices: those of a long text take 50 ms. */
export async function printsInSlices(texts: readonly string[], slices = new Slices()): Promise<string[]> {
  const prints = new Set<string>()
  for (const text of texts) for (const _ of printing(text, prints)) await slices.pause()
  return [...prints]
}

/** How many words are read, or runs are hashed, between two pauses. */
const STEP = 500

/** Adds the fingerprints of a text to a set. Yields where it can pause. */
function* printing(text: string, prints: Set<string>): Generator<undefined> {
  const words: string[] = []
  for (const sentence of sentencesOf(text)) {
    const first = words.length
    for (const { isWordLike, segment } of WORDS.segment(sentence)) {
      if (isWordLike !== true) continue
      words.push(segment)
      if (words.length % STEP === 0) yield
    }
    const length = words.length - first
    if (length >= SENTENCE.least && length <= SENTENCE.most) prints.add(printOf(words.slice(first)))
    if (words.length > MAX_WORDS) break
  }
  if (words.length >= MIN_WORDS) prints.add(printOf(words))
  const runs: string[] = []
  for (let at = 0; at + RUN <= words.length; at += 1) {
    runs.push(printOf(words.slice(at, at + RUN)))
    if (at % STEP === 0) yield
  }
  for (const print of winnowed(runs)) prints.add(print)
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

function printOf(words: readonly string[]): string {
  return hash('sha1', words.join(' '), 'base64url').slice(0, 10)
}

/** The smallest fingerprint of each window. */
function winnowed(runs: readonly string[]): string[] {
  const count = runs.length === 0 ? 0 : Math.max(1, runs.length - WINDOW + 1)
  return Array.from({ length: count }, (_, at) =>
    runs.slice(at, at + WINDOW).reduce((least, one) => (one < least ? one : least)),
  )
}
