import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import subsetFont from 'subset-font'

/**
 * Fonts for scripts that the fonts of the compiler do not have. They come with npm packages, as variable WOFF2 divided into
 * files by character. The compiler reads neither, so a small static TrueType font is made of the characters of a text.
 */

/** The first family with a character is used. */
const FAMILIES = ['noto-sans-arabic', 'noto-sans-hebrew', 'noto-sans-thai', 'noto-emoji'] as const
/** The same characters of Chinese, Japanese and Korean are drawn differently. */
const HAN = ['noto-sans-jp', 'noto-sans-kr', 'noto-sans-sc', 'noto-sans-tc'] as const
type Family = (typeof FAMILIES)[number] | (typeof HAN)[number]

const REGULAR = 400
const BOLD = 700

/** The scripts that the compiler's fonts have. */
const WELL_KNOWN = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u
/** Drawn in black, as the compiler cannot draw fonts of colours. */
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\p{Emoji_Modifier}/u
/** The first character that only fonts of East Asia have: punctuation, full-width letters. */
const EAST_ASIA = 0x2e_80

interface FontFile {
  readonly path: URL
  readonly ranges: readonly (readonly [first: number, last: number])[]
}

const families = new Map<Family, readonly FontFile[]>()

/**
 * The fonts for the characters of a text that the compiler has no font for; none for most texts.
 * @param text everything that is printed
 */
export async function fontsFor(text: string): Promise<Buffer[]> {
  // Some characters are drawn as several, such as Thai vowels.
  const wanted = [...new Set(text + text.normalize('NFKD'))].filter(needsFont)
  if (wanted.length === 0) return []
  const files = new Map<string, { readonly path: URL; characters: string }>()
  for (const character of wanted) {
    const found = fileWith(character.codePointAt(0) ?? 0, text)
    if (found === undefined) continue
    const known = files.get(found.path.href) ?? { path: found.path, characters: '' }
    known.characters += character
    files.set(found.path.href, known)
  }
  const made: Buffer[] = []
  // One after the other: each holds a whole font in memory.
  for (const { characters, path } of files.values()) {
    const font = await readFile(path)
    for (const wght of [REGULAR, BOLD]) {
      made.push(await subsetFont(font, characters, { targetFormat: 'truetype', variationAxes: { wght } }))
    }
  }
  return made
}

function needsFont(character: string): boolean {
  const codePoint = character.codePointAt(0) ?? 0
  if (EMOJI.test(character)) return true
  if (codePoint >= EAST_ASIA) return true
  return !WELL_KNOWN.test(character) && !/[\p{Script=Common}\p{Script=Inherited}]/u.test(character)
}

function fileWith(codePoint: number, text: string): FontFile | undefined {
  for (const family of [...FAMILIES, ...hanOrder(text)]) {
    const file = filesOf(family).find(({ ranges }) =>
      ranges.some(([first, last]) => first <= codePoint && codePoint <= last),
    )
    if (file !== undefined) return file
  }
  return undefined
}

/** Texts with kana are Japanese, and texts with Hangul are Korean. Others use the font of mainland China first. */
function hanOrder(text: string): Family[] {
  const first = /[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)
    ? 'noto-sans-jp'
    : /\p{Script=Hangul}/u.test(text)
      ? 'noto-sans-kr'
      : 'noto-sans-sc'
  return [first, ...HAN.filter((family) => family !== first)]
}

/** `unicode.json` of a package has the characters of each of its files. */
function filesOf(family: Family): readonly FontFile[] {
  let files = families.get(family)
  if (files === undefined) {
    const folder = new URL('./', import.meta.resolve(`@fontsource-variable/${family}/unicode.json`))
    const ranges = JSON.parse(readFileSync(new URL('unicode.json', folder), 'utf8')) as Record<string, string>
    files = Object.entries(ranges).map(([key, list]) => ({
      path: new URL(`files/${family}-${key.replaceAll(/[[\]]/g, '')}-wght-normal.woff2`, folder),
      ranges: list.split(',').map((range) => {
        const [first = '', last = first] = range.trim().slice(2).split('-')
        return [Number.parseInt(first, 16), Number.parseInt(last, 16)] as const
      }),
    }))
    families.set(family, files)
  }
  return files
}
