import { Parser } from 'htmlparser2'
import { cleanText } from '../../../../tools/clean-text.ts'
import { Slices } from '../../../../core/slices.ts'
import type { LinkCard } from '../../../../platforms/link-card.ts'

/** Characters of a page that are read without a pause. */
const PIECE = 16_384
const MAX_TITLE = 300
const MAX_DESCRIPTION = 1_000

/** The names of what a page says of itself, the best first: Open Graph, then the cards of X, then plain HTML. */
const TITLES = ['og:title', 'twitter:title', 'title']
const DESCRIPTIONS = ['og:description', 'twitter:description', 'description']
const IMAGES = ['og:image:secure_url', 'og:image', 'og:image:url', 'twitter:image', 'twitter:image:src']
const NAMES = new Set([...TITLES, ...DESCRIPTIONS, ...IMAGES])

interface Page {
  /** The address after redirects. */
  readonly url: string
  readonly contentType: string
  /** HTML. Can be cut off. */
  readonly bytes: Buffer
}

/** What a page says of itself in its head. Runs in slices. */
export async function pageMeta({ bytes, contentType, url }: Page): Promise<Partial<LinkCard>> {
  const found = await metaOf(decoded(bytes, contentType))
  const first = (names: readonly string[], most: number) =>
    names.map((name) => shown(found.get(name) ?? '', most)).find((text) => text !== '')
  const title = first(TITLES, MAX_TITLE)
  const description = first(DESCRIPTIONS, MAX_DESCRIPTION)
  const imageUrl = IMAGES.map((name) => imageOf(found.get(name), url)).find((image) => image !== undefined)
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(imageUrl !== undefined && { imageUrl }),
  }
}

/** The first value of each name. */
async function metaOf(html: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const note = (name: string, value: string) => {
    if (NAMES.has(name) && !found.has(name) && value.trim() !== '') found.set(name, value)
  }
  // An object, because the callbacks of the parser change it during the loop.
  const head = { isOver: false }
  let title: string | undefined
  const parser = new Parser({
    onopentag: (name, { content, name: own, property }) => {
      if (name === 'body') head.isOver = true
      // What a picture or a comment of a reader calls itself is not the page.
      if (head.isOver) return
      if (name === 'title') title = ''
      if (name === 'meta' && content !== undefined) note((property ?? own ?? '').toLowerCase(), content)
    },
    ontext: (text) => {
      if (title !== undefined && title.length < PIECE) title += text
    },
    onclosetag: (name) => {
      if (name === 'title' && title !== undefined) {
        if (!head.isOver) note('title', title)
        title = undefined
      }
      if (name === 'head') head.isOver = true
    },
  })
  const slices = new Slices()
  for (let at = 0; at < html.length && !head.isOver; at += PIECE) {
    parser.write(html.slice(at, at + PIECE))
    await slices.pause()
  }
  return found
}

function shown(text: string, most: number): string {
  const line = cleanText(text).replaceAll(/\s+/g, ' ').trim()
  // Characters of more than one unit are cut whole.
  const characters = Array.from(line.slice(0, most * 2 + 2))
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`
}

function imageOf(value: string | undefined, base: string): string | undefined {
  const url = value === undefined ? null : URL.parse(value.trim(), base)
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : undefined
}

/** The text in the encoding of the header, or else of the page itself; UTF-8 without either. */
function decoded(bytes: Buffer, contentType: string): string {
  const own = /<meta[^>]{1,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(bytes.toString('latin1', 0, 1_024))?.[1]
  const label = /charset\s*=\s*"?([\w-]{1,40})/i.exec(contentType)?.[1] ?? own ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}
