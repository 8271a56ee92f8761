/** An inclusive range of code points. */
export type Range = readonly [first: number, last: number]

/** Parses a `unicode-range` of CSS, such as `U+0-ff,U+2026`. */
export function parseRanges(text: string): Range[] {
  return text.split(',').map((part): Range => {
    const [first = '', last = first] = part.trim().replace(/^U\+/i, '').split('-')
    return [Number.parseInt(first, 16), Number.parseInt(last, 16)]
  })
}

export function isIn(ranges: readonly Range[], codePoint: number): boolean {
  return ranges.some(([first, last]) => first <= codePoint && codePoint <= last)
}

/** Characters that are not drawn: controls, spaces, joiners and selectors of variants. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}]/u

/** The code points of texts that are drawn, each once. */
export function drawnCharacters(texts: readonly string[]): Set<number> {
  const found = new Set<number>()
  for (const text of texts) {
    for (const character of text) if (!INVISIBLE.test(character)) found.add(character.codePointAt(0) ?? 0)
  }
  return found
}

/** Chinese, Japanese and Korean write some of the same characters differently. */
export type HanStyle = 'jp' | 'kr' | 'sc' | 'tc'

/**
 * The style in which a text writes these characters, by its script: kana is Japanese, Hangul is Korean, and Bopomofo is
 * used in Taiwan. Otherwise characters that only traditional Chinese has decide.
 */
export function hanStyleOf(text: string): HanStyle {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return 'jp'
  if (/\p{Script=Hangul}/u.test(text)) return 'kr'
  return /\p{Script=Bopomofo}/u.test(text) || TRADITIONAL.test(text) ? 'tc' : 'sc'
}

/** Frequent characters that simplified Chinese writes differently. */
const TRADITIONAL = /[們個來時說這國會對學發為過還後從們種麼樣點開關動問間門長車東見現電話語請謝買賣錢聽讓應該體臺灣]/u
