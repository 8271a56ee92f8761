/**
 * The text of a message without its markup, by the rules of core.telegram.org/bots/api#formatting-options (2026-11).
 * Lengths count “after entities parsing”.
 */

const TAGS = /^(?:b|strong|i|em|u|ins|s|strike|del|span|tg-spoiler|a|code|pre|blockquote|tg-emoji)$/
const SPOILER = /\sclass\s*=\s*["']?tg-spoiler\b/i
const PIECE = /<(?:"[^"]*"|'[^']*'|[^"'<>])*>|&(?:#x[\da-f]+|#\d+|lt|gt|amp|quot);|[^<&]+|[<&]/gi
const NAMED: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"' }
const MOST_CODE = 0x10_ff_ff

/** @returns undefined if Telegram could not read the markup, and would refuse the message */
export function plainText(text: string, { parse_mode: mode }: Readonly<Record<string, unknown>>): string | undefined {
  if (mode === 'HTML') return plainHtml(text)
  return mode === 'MarkdownV2' ? plainMarkdown(text) : text
}

function plainHtml(text: string): string | undefined {
  const open: string[] = []
  let plain = ''
  for (const [piece] of text.matchAll(PIECE)) {
    if (piece.startsWith('&')) plain += characterOf(piece)
    else if (!piece.startsWith('<')) plain += piece
    else if (!takesTag(piece, open)) return undefined
  }
  return open.length === 0 ? plain : undefined
}

function characterOf(entity: string): string {
  const [, hex, decimal] = /^&#(?:x([\da-f]+)|(\d+));$/i.exec(entity) ?? []
  if (hex === undefined && decimal === undefined) return NAMED[entity] ?? entity
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code > 0 && code <= MOST_CODE ? String.fromCodePoint(code) : entity
}

/** Opens or closes a tag. */
function takesTag(piece: string, open: string[]): boolean {
  const [, slash, found = ''] = /^<(\/?)([^\s>/]*)/.exec(piece) ?? []
  const name = found.toLowerCase()
  if (slash === '/') {
    const last = open.pop()
    return last !== undefined && (name === '' || name === last)
  }
  if (!TAGS.test(name) || (name === 'span' && !SPOILER.test(piece))) return false
  open.push(name)
  return true
}

/** What must be escaped where it is no markup. */
const RESERVED = /[\]()>#+\-=|{}.!]/
const MARKS = ['||', '__', '*', '_', '~', '![', '['] as const

function plainMarkdown(text: string): string | undefined {
  const open: string[] = []
  let plain = ''
  let isExpandable = false
  for (let at = 0; at < text.length;) {
    const isLineStart = at === 0 || text[at - 1] === '\n'
    const char = text[at] ?? ''
    const mark = MARKS.find((one) => text.startsWith(one, at))
    if (isEscape(text, at)) {
      plain += text[at + 1]
      at += 2
    } else if (char === '`') {
      const code = codeAt(text, at)
      if (code === undefined) return undefined
      plain += code.plain
      at = code.end
    } else if (isLineStart && text.startsWith('**>', at)) {
      isExpandable = true
      at += '**>'.length
    } else if (isLineStart && char === '>') {
      at += 1
    } else if (char === ']' && open.at(-1)?.endsWith('[') === true) {
      open.pop()
      const end = text[at + 1] === '(' ? endOf(text, at + 2, ')') : at + 1
      if (end === undefined) return undefined
      at = end
    } else if (mark === '||' && isExpandable && open.at(-1) !== mark && /^(?:\n|$)/.test(text.slice(at + 2, at + 3))) {
      isExpandable = false
      at += mark.length
    } else if (mark !== undefined) {
      if (open.at(-1) === mark && !mark.endsWith('[')) open.pop()
      else open.push(mark)
      at += mark.length
    } else if (RESERVED.test(char)) {
      return undefined
    } else {
      plain += char
      at += 1
    }
  }
  return open.length === 0 ? plain : undefined
}

/** A backslash takes away the meaning of any ASCII character. */
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

/** Code, or a block of it, whose first line can name a language. */
function codeAt(text: string, at: number): { readonly plain: string; readonly end: number } | undefined {
  const mark = text.startsWith('```', at) ? '```' : '`'
  const end = endOf(text, at + mark.length, mark)
  if (end === undefined) return undefined
  const code = text.slice(at + mark.length, end - mark.length)
  const shown = mark === '`' ? code : code.replace(/^\S*\n/, '')
  return { plain: shown.replaceAll(/\\([\0-~])/g, '$1'), end }
}
