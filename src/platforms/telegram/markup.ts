/**
 * The text of a message without its markup, by the rules of core.telegram.org/bots/api#formatting-options (2026-11).
 * Lengths count “after entities parsing”.
 */
import type { TextPart } from '../rules/split.ts'
import { joined, partOf, plainOf, type Entity, type Piece, type Quote } from './pieces.ts'

type Options = Readonly<Record<string, unknown>>

/** @returns undefined if Telegram could not read the markup, and would refuse the message */
export function plainText(text: string, options: Options): string | undefined {
  const pieces = piecesOf(text, options)
  return pieces && plainOf(pieces)
}

/** Parts of a text, each with its markup. @returns undefined if Telegram could not read the markup, or that of a part */
export function partsOf(text: string, options: Options, parts: readonly TextPart[]): string[] | undefined {
  const pieces = piecesOf(text, options)
  if (pieces === undefined) return undefined
  const plain = plainOf(pieces)
  const texts = parts.map((part) => partOf(pieces, part))
  const isRead = parts.every(({ added, end, start }, index) => {
    return plainText(texts[index] ?? '', options) === `${plain.slice(start, end)}${added}`
  })
  return isRead ? texts : undefined
}

function piecesOf(text: string, { parse_mode: mode }: Options): Piece[] | undefined {
  if (mode === 'HTML') return htmlPieces(text)
  if (mode === 'MarkdownV2') return new MarkdownReader(text).pieces()
  return [{ plain: text, source: text, entities: [], quote: undefined, endsLine: false }]
}

const TAGS = /^(?:b|strong|i|em|u|ins|s|strike|del|span|tg-spoiler|a|code|pre|blockquote|tg-emoji)$/
const SPOILER = /\sclass\s*=\s*["']?tg-spoiler\b/i
const PIECE = /<(?:"[^"]*"|'[^']*'|[^"'<>])*>|&(?:#x[\da-f]+|#\d+|lt|gt|amp|quot);|[^<&]+|[<&]/gi
const NAMED: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"' }
const MAX_CODE = 0x10_ff_ff

function htmlPieces(text: string): Piece[] | undefined {
  const pieces: Piece[] = []
  let entities: readonly Entity[] = []
  for (const [source] of text.matchAll(PIECE)) {
    if (source.startsWith('<')) {
      const inside = withTag(entities, source)
      if (inside === undefined) return undefined
      entities = inside
    } else {
      const plain = source.startsWith('&') ? characterOf(source) : source
      pieces.push({ plain, source, entities, quote: undefined, endsLine: false })
    }
  }
  return entities.length === 0 ? joined(pieces) : undefined
}

function characterOf(entity: string): string {
  const [, hex, decimal] = /^&#(?:x([\da-f]+)|(\d+));$/i.exec(entity) ?? []
  if (hex === undefined && decimal === undefined) return NAMED[entity] ?? entity
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code > 0 && code <= MAX_CODE ? String.fromCodePoint(code) : entity
}

/** The open entities after a tag. */
function withTag(entities: readonly Entity[], tag: string): readonly Entity[] | undefined {
  const [, slash, found = ''] = /^<(\/?)([^\s>/]*)/.exec(tag) ?? []
  const name = found.toLowerCase()
  if (slash === '/') {
    const last = entities.at(-1)
    return last !== undefined && (name === '' || last.close === `</${name}>`) ? entities.slice(0, -1) : undefined
  }
  if (!TAGS.test(name) || (name === 'span' && !SPOILER.test(tag))) return undefined
  return [...entities, { open: tag, close: `</${name}>` }]
}

/** Characters that must be escaped outside of markup. */
const RESERVED = /[\]()>#+\-=|{}.!]/
const MARKS = ['||', '__', '*', '_', '~', '![', '['] as const

/** Reads a text in MarkdownV2 once. */
class MarkdownReader {
  readonly #text: string
  #at = 0
  readonly #pieces: Piece[] = []
  #entities: readonly (Entity & { close: string })[] = []
  #quote: (Quote & { isExpandable: boolean }) | undefined

  constructor(text: string) {
    this.#text = text
  }

  pieces(): Piece[] | undefined {
    while (this.#at < this.#text.length) if (!this.#takesNext()) return undefined
    return this.#entities.length === 0 ? joined(this.#pieces) : undefined
  }

  /** Reads a character or a mark. @returns whether Telegram can read it */
  #takesNext(): boolean {
    const [text, at] = [this.#text, this.#at]
    const char = text[at] ?? ''
    if (isEscape(text, at)) return this.#add(text[at + 1] ?? '', text.slice(at, at + 2))
    // Escaped, so that it does not escape the mark that follows it when the text is split.
    if (char === '\\') return this.#add(char, String.raw`\\`, 1)
    if (char === '`') return this.#takesCode()
    if ((at === 0 || text[at - 1] === '\n') && /^(?:\*\*)?>/.test(text.slice(at, at + 3))) return this.#takesQuote()
    if (char === '\n') return this.#endLine()
    const last = this.#entities.at(-1)
    if (char === ']' && last?.open.endsWith('[') === true) return this.#takesLinkEnd(last)
    const mark = MARKS.find((one) => text.startsWith(one, at))
    if (mark !== undefined) return this.#takesMark(mark)
    return !RESERVED.test(char) && this.#add(char, char)
  }

  #add(plain: string, source: string, length = source.length): true {
    this.#pieces.push({ plain, source, entities: this.#entities, quote: this.#quote, endsLine: false })
    this.#at += length
    return true
  }

  #endLine(): true {
    if (this.#text[this.#at + 1] !== '>') this.#quote = undefined
    this.#pieces.push({ plain: '\n', source: '\n', entities: this.#entities, quote: this.#quote, endsLine: true })
    this.#at += 1
    return true
  }

  #takesQuote(): true {
    const mark = this.#text[this.#at] === '>' ? '>' : '**>'
    if (this.#quote === undefined || mark !== '>') this.#quote = { mark, isExpandable: false }
    this.#at += mark.length
    return true
  }

  #takesMark(mark: (typeof MARKS)[number]): true {
    const last = this.#entities.at(-1)
    this.#at += mark.length
    if (
      mark === '||' &&
      this.#quote !== undefined &&
      last?.open !== mark &&
      /^(?:\n|$)/.test(this.#text[this.#at] ?? '')
    ) {
      this.#quote.isExpandable = true
      this.#quote = undefined
    } else if (last?.open === mark && !mark.endsWith('[')) this.#entities = this.#entities.slice(0, -1)
    else this.#entities = [...this.#entities, { open: mark, close: mark }]
    return true
  }

  #takesLinkEnd(link: { close: string }): boolean {
    const end = this.#text[this.#at + 1] === '(' ? endOf(this.#text, this.#at + 2, ')') : this.#at + 1
    if (end === undefined) return false
    link.close = this.#text.slice(this.#at, end)
    this.#entities = this.#entities.slice(0, -1)
    this.#at = end
    return true
  }

  /** Code, or a block of it, whose first line can name a language. */
  #takesCode(): boolean {
    const mark = this.#text.startsWith('```', this.#at) ? '```' : '`'
    const start = this.#at + mark.length
    const end = endOf(this.#text, start, mark)
    if (end === undefined) return false
    const code = this.#text.slice(start, end - mark.length)
    const [language = ''] = mark === '`' ? [] : (/^\S*\n/.exec(code) ?? [])
    const outside = this.#entities
    // Without a line break, the first word of a part would be read as the language.
    this.#entities = [...outside, { open: mark === '`' ? mark : `${mark}${language || '\n'}`, close: mark }]
    for (const [source] of code.slice(language.length).matchAll(/\\[\0-~]|[^\\`]+|[\\`]/g)) {
      if (/^\\./s.test(source)) this.#add(source.slice(1), source)
      else this.#add(source, source.replace(/^[\\`]/, String.raw`\$&`))
    }
    this.#entities = outside
    this.#at = end
    return true
  }
}

/** A backslash escapes any ASCII character. */
function isEscape(text: string, at: number): boolean {
  return text[at] === '\\' && at + 1 < text.length && text.charCodeAt(at + 1) <= 126
}

/** The position after the next `mark` that is not escaped. */
function endOf(text: string, from: number, mark: string): number | undefined {
  for (let at = from; at < text.length; at += isEscape(text, at) ? 2 : 1) {
    if (text.startsWith(mark, at)) return at + mark.length
  }
  return undefined
}
