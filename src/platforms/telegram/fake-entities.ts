import { plainOf, Refusal } from './fake-state.ts'

const TAGS = /^(?:b|strong|i|em|u|ins|s|strike|del|span|tg-spoiler|a|code|pre|blockquote|tg-emoji)$/
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }
const RESERVED = /[>#+\-=|{}.!()\]]/

/** The text that is left when markup is removed (core.telegram.org/bots/api#formatting-options, 2026-11). */
export function withoutMarkup(text: string, mode: unknown): string {
  const name = plainOf(mode).toLowerCase()
  if (name === '') return text
  if (name === 'html') return withoutHtml(text)
  if (name === 'markdownv2') return withoutMarkdown(text)
  throw new Refusal(400, `Bad Request: unsupported parse_mode`)
}

function withoutHtml(text: string): string {
  const open: string[] = []
  let plain = ''
  for (const [piece, slash, tag = '', named, code] of text.matchAll(
    /<(\/?)([^\s>]+)[^>]*>|&(?:(lt|gt|amp|quot)|#(\d+));|[^<&]+|[<&]/g,
  )) {
    if (named !== undefined) plain += NAMED[named] ?? ''
    else if (code !== undefined) plain += String.fromCodePoint(Number(code))
    else if (piece === '<') throw unparsable('Unexpected end of the tag')
    else if (slash === '/') {
      if (open.pop() !== tag) throw unparsable(`Unexpected end tag "${tag}"`)
    } else if (tag === '') plain += piece
    else if (TAGS.test(tag)) open.push(tag)
    else throw unparsable(`Unsupported start tag "${tag}"`)
  }
  if (open.length > 0) throw unparsable(`Can't find end tag corresponding to start tag "${open.at(-1)}"`)
  return plain
}

function withoutMarkdown(text: string): string {
  const open: string[] = []
  let plain = ''
  const pieces = /\\([^\p{L}\p{N}])|```[\s\S]*?```|`[^`]*`|\]\(([^)]*)\)|\|\||__|[*_~[]|[\s\S]/gu
  for (const [piece, escaped, address] of text.matchAll(pieces)) {
    if (escaped !== undefined) plain += escaped
    else if (piece.startsWith('`') && piece.length > 1) plain += piece.replaceAll('`', '')
    else if (address !== undefined) {
      if (open.pop() !== '[') throw unparsable("Character ']' is reserved and must be escaped with the preceding '\\'")
    } else if (/^(?:\|\||__|[*_~[])$/.test(piece)) {
      if (open.at(-1) === piece) open.pop()
      else open.push(piece)
    } else if (RESERVED.test(piece) || piece === '`') {
      throw unparsable(`Character '${piece}' is reserved and must be escaped with the preceding '\\'`)
    } else plain += piece
  }
  if (open.length > 0) throw unparsable("Can't find end of the entity")
  return plain
}

function unparsable(why: string): Refusal {
  return new Refusal(400, `Bad Request: can't parse entities: ${why}`)
}
