/**
 * About how much space a text needs. Templates divide a page by it, and the renderer measures exactly: a text whose place
 * is too small is shrunk, so an estimate that is wrong never makes texts overlap.
 */

/** Widths of bold ASCII characters in Noto Sans, in hundredths of the font size. */
const WIDTHS: readonly (readonly [width: number, characters: string])[] = [
  [30, "'!,-.:;ijl"],
  [36, '()J[]`/I\\_f{}'],
  [45, 'rt'],
  [50, '"?csz'],
  [57, '$*+0123456789<=>EFLS^vy|~'],
  [60, 'CPTZaekx'],
  [65, '#BKRVXYbdghnopqu'],
  [72, 'AG'],
  [80, '&DHUNOQ'],
  [86, 'w'],
  [97, '%@MWm'],
]
const ASCII = new Map(
  WIDTHS.flatMap(([width, characters]) => characters.split('').map((one) => [one, width / 100] as const)),
)
const SPACE = 0.26
/** Of a normal text, compared with a bold one. */
const NORMAL = 0.95
/** For letters that are wider than usual ones, and lines that end early. */
const RESERVE = 1.03

/** Mean widths of the characters of a script in a bold text. Marks have none. */
const SCRIPTS: readonly (readonly [script: RegExp, width: number])[] = [
  [/\p{M}/u, 0],
  [/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303F\uFF00-\uFF60]/u, 1],
  [/[\p{Script=Hangul}]/u, 0.92],
  [/\p{Extended_Pictographic}/u, 1.2],
  [/[\p{Script=Thai}]/u, 0.58],
  [/[\p{Script=Arabic}]/u, 0.52],
  [/[\p{Script=Hebrew}]/u, 0.6],
  [/[\p{Script=Devanagari}]/u, 0.75],
  [/\p{Lu}/u, 0.72],
]
const OTHER = 0.63

/** Scripts whose lines can end after every character, or almost: words of Thai are short. */
const DIVISIBLE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\u3000-\u303F\uFF00-\uFF60]/u

export interface TextStyle {
  /** Pixels. */
  readonly fontSize: number
  readonly bold?: boolean | undefined
}

/** The width of a text on one line, in multiples of its size. */
function emsOf(text: string): number {
  let ems = 0
  for (const character of text.normalize('NFC')) {
    ems +=
      ASCII.get(character.normalize('NFD').charAt(0)) ??
      (character === ' ' ? SPACE : (SCRIPTS.find(([script]) => script.test(character))?.[1] ?? OTHER))
  }
  return ems
}

/** How many lines a text has in a width of so many pixels. */
export function lineCount(text: string, { bold = false, fontSize }: TextStyle, width: number): number {
  const room = width / (fontSize * RESERVE * (bold ? 1 : NORMAL))
  return text.split('\n').reduce((sum, paragraph) => sum + linesOf(paragraph, room), 0)
}

function linesOf(paragraph: string, room: number): number {
  let [lines, used] = [1, 0]
  for (const [index, word] of paragraph.split(' ').entries()) {
    let space = index === 0 ? 0 : SPACE
    for (const part of partsOf(word)) {
      const ems = emsOf(part)
      if (used > 0 && used + space + ems > room) {
        lines += 1
        used = 0
      }
      // A word that is longer than a line is divided.
      lines += Math.max(0, Math.ceil(ems / room) - 1)
      used += (used > 0 ? space : 0) + (ems > room ? ems % room : ems)
      space = 0
    }
  }
  return lines
}

/** Characters of scripts without spaces are words of their own. */
function partsOf(word: string): string[] {
  if (!DIVISIBLE.test(word)) return [word]
  return word.match(/\p{Script=Thai}{1,6}|[^\p{Script=Thai}]\p{M}*/gu) ?? [word]
}

const TALL = /[\p{Script=Thai}\p{Script=Arabic}\p{Script=Devanagari}]/u
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Hebrew}]/u

/** The distance of lines, as a multiple of the font size. Marks above and below letters, and dense letters, need more. */
export function lineHeightOf(text: string, latin: number): number {
  return TALL.test(text) ? Math.max(latin, 1.4) : DENSE.test(text) ? Math.max(latin, 1.3) : latin
}
