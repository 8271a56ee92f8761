import { plainOf, Refusal } from './state.ts'

/** A part of a text with a format (core.telegram.org/bots/api#messageentity, 2026-11). Offsets are in UTF-16 units. */
export interface FakeEntity {
  readonly type: string
  readonly offset: number
  readonly length: number
  readonly url?: string
  readonly language?: string
  readonly custom_emoji_id?: string
}

/** A text without its markup, and what the markup says. */
export interface Marked {
  readonly text: string
  readonly entities: readonly FakeEntity[]
}

type Kind = Omit<FakeEntity, 'offset' | 'length'>

const TAGS: Readonly<Record<string, string>> = {
  b: 'bold',
  strong: 'bold',
  i: 'italic',
  em: 'italic',
  u: 'underline',
  ins: 'underline',
  s: 'strikethrough',
  strike: 'strikethrough',
  del: 'strikethrough',
  span: 'spoiler',
  'tg-spoiler': 'spoiler',
  a: 'text_link',
  code: 'code',
  pre: 'pre',
  blockquote: 'blockquote',
  'tg-emoji': 'custom_emoji',
}
const MARKS: Readonly<Record<string, string>> = {
  '*': 'bold',
  _: 'italic',
  __: 'underline',
  '~': 'strikethrough',
  '||': 'spoiler',
}
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }
const RESERVED = /[>#+\-=|{}.!()\]]/

/** Reads markup (core.telegram.org/bots/api#formatting-options, 2026-11). White space at the ends is removed. */
export function readMarkup(text: string, mode: unknown): Marked {
  const name = plainOf(mode).toLowerCase()
  if (name === '') return trimmed({ text, entities: [] })
  if (name === 'html') return trimmed(readHtml(text))
  if (name === 'markdownv2') return trimmed(readMarkdown(text))
  throw new Refusal(400, `Bad Request: unsupported parse_mode`)
}

function trimmed({ entities, text }: Marked): Marked {
  const start = text.length - text.trimStart().length
  const short = text.trim()
  const within = entities.flatMap((entity) => {
    const from = Math.max(0, entity.offset - start)
    const length = Math.min(short.length, entity.offset + entity.length - start) - from
    return length > 0 ? [{ ...entity, offset: from, length }] : []
  })
  // By their beginning, and the outer before the inner.
  return { text: short, entities: within.toSorted((a, b) => a.offset - b.offset || b.length - a.length) }
}

function readHtml(text: string): Marked {
  const open: { tag: string; kind: Kind | undefined; offset: number }[] = []
  const entities: FakeEntity[] = []
  let plain = ''
  for (const [piece, slash, name = '', named, code] of text.matchAll(
    /<(\/?)([^\s>]+)[^>]*>|&(?:(lt|gt|amp|quot)|#(\d+));|[^<&]+|[<&]/g,
  )) {
    const tag = name.toLowerCase()
    if (named !== undefined) plain += NAMED[named] ?? ''
    else if (code !== undefined) plain += String.fromCodePoint(Number(code))
    else if (piece === '<') throw unparsable('Unexpected end of the tag')
    else if (slash === '/') {
      const last = open.pop()
      if (last?.tag !== tag) throw unparsable(`Unexpected end tag "${tag}"`)
      const { kind, offset } = last
      if (kind !== undefined) entities.push({ ...kind, offset, length: plain.length - offset })
    } else if (tag === '') plain += piece
    else if (TAGS[tag] !== undefined) {
      const outer = open.at(-1)
      const language = /\sclass\s*=\s*["']?language-([\w+#-]+)/i.exec(piece)?.[1]
      // Code directly within a block names its language.
      const namesLanguage = tag === 'code' && outer?.tag === 'pre' && outer.offset === plain.length
      if (namesLanguage && language !== undefined && outer.kind !== undefined) outer.kind = { ...outer.kind, language }
      open.push({ tag, kind: namesLanguage ? undefined : kindOf(tag, piece), offset: plain.length })
    } else throw unparsable(`Unsupported start tag "${tag}"`)
  }
  if (open.length > 0) throw unparsable(`Can't find end tag corresponding to start tag "${open.at(-1)?.tag}"`)
  return { text: plain, entities }
}

/** The format that a tag stands for. */
function kindOf(tag: string, piece: string): Kind {
  const type = TAGS[tag] ?? tag
  const valueOf = (name: string) => {
    const [, , quoted, bare] =
      new RegExp(String.raw`\s${name}\s*=\s*(?:(["'])(.*?)\1|([^\s>]+))`, 'i').exec(piece) ?? []
    return quoted ?? bare
  }
  if (tag === 'a') return { type, url: plainText(valueOf('href') ?? '') }
  if (tag === 'tg-emoji') return { type, custom_emoji_id: valueOf('emoji-id') ?? '' }
  return tag === 'blockquote' && /\sexpandable\b/i.test(piece) ? { type: 'expandable_blockquote' } : { type }
}

function plainText(text: string): string {
  return text.replaceAll(/&(lt|gt|amp|quot);/g, (_, name: string) => NAMED[name] ?? '')
}

function readMarkdown(text: string): Marked {
  const open: { mark: string; offset: number }[] = []
  const entities: FakeEntity[] = []
  let plain = ''
  const pieces = /\\([^\p{L}\p{N}])|```[\s\S]*?```|`[^`]*`|\]\(([^)]*)\)|\|\||__|[*_~[]|[\s\S]/gu
  for (const [piece, escaped, address] of text.matchAll(pieces)) {
    if (escaped !== undefined) plain += escaped
    else if (piece.startsWith('`') && piece.length > 1) {
      const code = piece.replaceAll('`', '')
      entities.push({ type: piece.startsWith('```') ? 'pre' : 'code', offset: plain.length, length: code.length })
      plain += code
    } else if (address !== undefined) {
      const last = open.pop()
      if (last?.mark !== '[') throw unparsable("Character ']' is reserved and must be escaped with the preceding '\\'")
      const url = address.replaceAll(/\\(.)/g, '$1')
      entities.push({ type: 'text_link', url, offset: last.offset, length: plain.length - last.offset })
    } else if (/^(?:\|\||__|[*_~[])$/.test(piece)) {
      const last = open.at(-1)
      if (last?.mark === piece) {
        open.pop()
        entities.push({ type: MARKS[piece] ?? piece, offset: last.offset, length: plain.length - last.offset })
      } else open.push({ mark: piece, offset: plain.length })
    } else if (RESERVED.test(piece) || piece === '`') {
      throw unparsable(`Character '${piece}' is reserved and must be escaped with the preceding '\\'`)
    } else plain += piece
  }
  if (open.length > 0) throw unparsable("Can't find end of the entity")
  return { text: plain, entities }
}

function unparsable(why: string): Refusal {
  return new Refusal(400, `Bad Request: can't parse entities: ${why}`)
}
