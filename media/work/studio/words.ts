import { createRequire } from 'node:module'

/** Where words can be divided at the end of a line: hyphenation by patterns of TeX, and Thai, which has no spaces. */

/** Shown as a hyphen only where a line ends. The renderer breaks lines at it, but draws no hyphen. */
export const SOFT_HYPHEN = '\u00AD'
const ZERO_WIDTH_SPACE = '\u200B'

const require = createRequire(import.meta.url)

/** Folders of `hyphen` by the language codes of `eld` (ISO 639-1), where they differ or are not the only ones. */
const PATTERNS: Readonly<Record<string, string>> = { en: 'en-us', no: 'nb', sr: 'sr-cyrl' }
const LANGUAGES = new Set(
  'be bg ca cs da de el en es et eu fi fr gl hr hu is it lt lv nl no pl pt ro ru sk sl sq sr sv tr uk'.split(' '),
)

interface Patterns {
  hyphenateSync(text: string, options: { readonly hyphenChar: string; readonly minWordLength: number }): string
}

const MIN_LETTERS = 8
/** Letters of a word before its first hyphen and after its last one. */
const MIN_PART = 3
/** Not parts of addresses, mentions and hashtags. */
const LONG_WORD = new RegExp(
  String.raw`(?<![\p{L}\p{M}\p{N}@#/_:.])[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{M}]{${MIN_LETTERS},}(?![\p{L}\p{N}@/_]|[.:][\p{L}\p{N}/])`,
  'gu',
)

/**
 * A text with soft hyphens in its long words. Undefined if no word can be hyphenated.
 * @param context all texts of the page, which tell the language of a text that is too short
 */
export async function hyphenated(text: string, context: string): Promise<string | undefined> {
  if (text.search(LONG_WORD) === -1) return undefined
  const patterns = await patternsFor(text, context)
  const result = text.replace(LONG_WORD, (word) =>
    patterns === undefined ? word : withoutShortParts(patterns.hyphenateSync(word, OPTIONS)),
  )
  return result === text ? undefined : result
}
const OPTIONS = { hyphenChar: SOFT_HYPHEN, minWordLength: MIN_LETTERS }

async function patternsFor(text: string, context: string): Promise<Patterns | undefined> {
  // Its tables take 200 ms to read, and few texts need them.
  const { eld } = await import('eld/extrasmall')
  const detect = (content: string) => {
    const found = eld.detect(content)
    return { language: found.language, isClear: found.isReliable() }
  }
  const [own, common] = [detect(text), detect(context)]
  const { language } = own.isClear || !common.isClear ? own : common
  return LANGUAGES.has(language) ? (require(`hyphen/${PATTERNS[language] ?? language}`) as Patterns) : undefined
}

function withoutShortParts(word: string): string {
  const parts = word.split(SOFT_HYPHEN)
  const [first = '', ...rest] = parts
  return rest.reduce(
    ({ done, word: made }, part, index) => {
      const left = rest.slice(index).join('').length
      const isKept = done >= MIN_PART && left >= MIN_PART
      return { done: done + part.length, word: `${made}${isKept ? SOFT_HYPHEN : ''}${part}` }
    },
    { done: first.length, word: first },
  ).word
}

const THAI = /\p{Script=Thai}/u
let thaiWords: Intl.Segmenter | undefined

/** A text that can be divided between Thai words, by zero-width spaces. The renderer knows no Thai words. */
export function withThaiBreaks(text: string): string {
  if (!THAI.test(text)) return text
  thaiWords ??= new Intl.Segmenter('th', { granularity: 'word' })
  let [result, isAfterThai] = ['', false]
  for (const { segment } of thaiWords.segment(text)) {
    const isThai = THAI.test(segment)
    result += `${isAfterThai && isThai ? ZERO_WIDTH_SPACE : ''}${segment}`
    isAfterThai = isThai
  }
  return result
}
