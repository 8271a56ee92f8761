import { wordsOf } from './hashtags.ts'

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'sentence' })

/** The sentences of a text, in order. A line break ends a sentence. */
export function sentencesOf(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line) => [...SEGMENTER.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
}

/**
 * An extractive summary: the sentences whose words occur most often in the text, in their order. Nothing is rewritten.
 * @param count how many sentences
 */
export function summarize(text: string, count: number): string[] {
  const sentences = sentencesOf(text)
  if (sentences.length <= count) return sentences
  const frequency = new Map<string, number>()
  for (const word of longWords(text)) frequency.set(word, (frequency.get(word) ?? 0) + 1)
  const scored = sentences.map((sentence, index) => {
    const words = longWords(sentence)
    const total = words.reduce((sum, word) => sum + (frequency.get(word) ?? 0), 0)
    // The first sentence usually says what a text is about.
    return { index, sentence, score: (total / Math.sqrt(words.length + 1)) * (index === 0 ? 1.25 : 1) }
  })
  return scored
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, count)
    .toSorted((a, b) => a.index - b.index)
    .map(({ sentence }) => sentence)
}

function longWords(text: string): string[] {
  return wordsOf(text)
    .filter((word) => word.length > 3)
    .map((word) => word.toLowerCase())
}

/** What the name of a file says about its content: `summer_tour-2026.final.jpg` is `Summer tour 2026 final`. */
export function titleOfFile(name: string): string | undefined {
  const words = name
    .replace(/\.[\p{L}\p{N}]{1,5}$/u, '')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, ' ')
    .split(/[\s_.\-–—()[\]]+/u)
    .filter((word) => word !== '' && !CAMERA.test(word))
  const text = words.join(' ').trim()
  if (!/\p{L}{2}/u.test(text)) return undefined
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** What cameras, telephones and browsers put into names: prefixes, times, sizes and counters. */
const CAMERA =
  /^(?:img|dsc[nf]?|vid|mov|pxl|mvimg|gopr|gx|dji|image|screenshot|whatsapp|copy|unnamed|untitled|download|mp|\d{6,}|\d{3,5}x\d{3,5})\d*$/i
