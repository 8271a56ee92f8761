import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Renderer } from '@takumi-rs/core'
import { drawnCharacters, hanStyleOf, isIn, parseRanges, type HanStyle, type Range } from './characters.ts'

/** The fonts of the studio come with npm packages, so that every server draws the same. */

/** A file with the characters of one range. A family is divided into such files, as for browsers. */
interface FontFile {
  readonly path: string
  readonly ranges: readonly Range[]
}

interface Family {
  readonly name: string
  readonly files: readonly FontFile[]
}

const require = createRequire(import.meta.url)
/** Every package has this file. Some do not export their `package.json`. */
const folderOf = (name: string, file: string) => dirname(require.resolve(`${name}/${file}`))

/** A variable font of fontsource. `unicode.json` has the characters of each file. */
function fontsource(id: string, name: string): Family {
  const folder = folderOf(`@fontsource-variable/${id}`, 'unicode.json')
  const ranges = JSON.parse(readFileSync(join(folder, 'unicode.json'), 'utf8')) as Record<string, string>
  const files = Object.entries(ranges).map(([key, text]) => ({
    path: join(folder, 'files', `${id}-${key.replaceAll(/[[\]]/g, '')}-wght-normal.woff2`),
    ranges: parseRanges(text),
  }))
  return { name, files }
}

const HAN: Readonly<Record<HanStyle, string>> = {
  jp: 'Noto Sans JP',
  kr: 'Noto Sans KR',
  sc: 'Noto Sans SC',
  tc: 'Noto Sans TC',
}
const TEXT = ['Noto Sans', 'Noto Sans Arabic', 'Noto Sans Hebrew', 'Noto Sans Thai']
const EMOJI = 'Twemoji'

/** The Unicode property, without the digits and signs that are emoji only in a sequence. */
const EMOJI_RANGES = [0x1_f0_00, 0x1_fa_ff] as const
const isEmoji = (codePoint: number) =>
  (codePoint >= EMOJI_RANGES[0] && codePoint <= EMOJI_RANGES[1]) ||
  (codePoint > 0xff && /\p{Emoji}/u.test(String.fromCodePoint(codePoint)))

let families: readonly Family[] | undefined

/** All families, read when the first text is rendered. */
function allFamilies(): readonly Family[] {
  families ??= [
    fontsource('noto-sans', 'Noto Sans'),
    fontsource('noto-sans-arabic', 'Noto Sans Arabic'),
    fontsource('noto-sans-hebrew', 'Noto Sans Hebrew'),
    fontsource('noto-sans-thai', 'Noto Sans Thai'),
    fontsource('noto-sans-jp', HAN.jp),
    fontsource('noto-sans-kr', HAN.kr),
    fontsource('noto-sans-sc', HAN.sc),
    fontsource('noto-sans-tc', HAN.tc),
  ]
  return families
}

/** The families for a text, the preferred ones first. */
export function familiesFor(text: string): string[] {
  const first = HAN[hanStyleOf(text)]
  return [...TEXT, first, ...Object.values(HAN).filter((name) => name !== first), EMOJI]
}

/** The characters of a text that no font has. */
export function charactersWithoutFont(text: string): string[] {
  const known = (codePoint: number) =>
    isEmoji(codePoint) || allFamilies().some(({ files }) => files.some(({ ranges }) => isIn(ranges, codePoint)))
  return [...drawnCharacters([text])].filter((one) => !known(one)).map((one) => String.fromCodePoint(one))
}

/** Registers with a renderer the font files that texts need. Files stay registered. */
export class FontShelf {
  readonly #renderer: Renderer
  readonly #registered = new Map<string, Promise<unknown>>()

  constructor(renderer: Renderer) {
    this.#renderer = renderer
  }

  async require(texts: readonly string[]): Promise<void> {
    const characters = [...drawnCharacters(texts)]
    const needed = allFamilies().flatMap(({ files, name }) =>
      files
        .filter(({ ranges }) => characters.some((one) => isIn(ranges, one)))
        .map(({ path, ranges }) => ({ name, path, ranges })),
    )
    await Promise.all(needed.map((file) => this.#register(file)))
    if (characters.some(isEmoji)) {
      const path = join(folderOf('twemoji-colr-font', 'twemoji.woff2'), 'twemoji.woff2')
      await this.#register({ name: EMOJI, path })
    }
  }

  #register({ name, path, ranges }: { name: string; path: string; ranges?: readonly Range[] }): Promise<unknown> {
    const found = this.#registered.get(path)
    if (found !== undefined) return found
    const registering = readFile(path).then((data) =>
      this.#renderer.registerFont({
        name,
        data,
        ...(ranges !== undefined && { unicodeRange: ranges.map(([first, last]): [number, number] => [first, last]) }),
      }),
    )
    this.#registered.set(path, registering)
    return registering
  }
}
