import { UnsafeFile, UnsupportedFile } from './errors.ts'
import { renderingCost } from './svg-cost.ts'

/** Maximum size in bytes. The document is read into memory and parsed. */
const MAX_BYTES = 1_000_000
/**
 * Maximum rendering cost, in plain elements. The largest maps have fewer. An accepted document may still take long,
 * because the cost does not consider how much of the image an element covers. Media work therefore limits the time of
 * rendering (`media/work/thumbnails/svg.ts`).
 */
const MAX_COST = 100_000

/** Whether a file starts like an SVG document. */
export function looksLikeSvg(head: Buffer): boolean {
  const text = head.toString('utf8', 0, 4_096).replace(/^\uFEFF/, '')
  // One piece at a time: an expression for the whole prolog would try all ways to divide a series of comments.
  const prolog = /\s+|<\?xml[^>]*>|<!--[^]*?-->|<!DOCTYPE[^[>]*>/iy
  let start = 0
  while (prolog.test(text)) start = prolog.lastIndex
  return /^<svg[\s>]/i.test(text.slice(start))
}

/** The start of a tag. Element names may have any namespace prefix. */
const PREFIX = String.raw`<\s*(?:[^\s<>/:=]+:)?`
/** The start of an embedded image. `embeddedImages` reads the same form. */
const IMAGE_DATA = String.raw`data:image/(?:png|jpeg|jpg|webp|gif);base64,`

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/<!ENTITY|<!DOCTYPE[^<>[]*\[/i, 'entities'],
  [new RegExp(`${PREFIX}(?:script|foreignObject|iframe|object|embed|audio|video|handler|listener)\\b`, 'i'), 'scripts'],
  [/1999\/xhtml/i, 'HTML'],
  [/\battributeName\s*=\s*(?:["']\s*)?(?:on|(?:[^\s"':]{1,100}:)?href)/i, 'scripts'],
  [/[\s"'/]on[a-z]+\s*=/i, 'scripts'],
  [/(?:java|vb)script\s*:|<\?php/i, 'scripts'],
  [new RegExp(`(?:href|src)\\s*=\\s*(?:["']\\s*)?(?!#|["']|${IMAGE_DATA})[^\\s"'>]`, 'i'), 'external links'],
  [new RegExp(`url\\(\\s*(?:["']\\s*)?(?!#|${IMAGE_DATA})[^\\s"')]`, 'i'), 'external links'],
  [/@import|<\?xml-stylesheet|\b(?:image-set|image|src)\(/i, 'external links'],
]

/**
 * Checks that an SVG document has no active or external content and is cheap to render.
 * @returns the embedded images, which have not been inspected yet
 * @throws AppError unsafe_file, unsupported_file
 */
export function checkSvg(content: Buffer, size: number): Buffer[] {
  if (size > MAX_BYTES)
    throw UnsupportedFile({
      message: `The SVG image has ${size} bytes. At most ${MAX_BYTES} are allowed. Simplify it, or send a PNG image.`,
    })
  const source = content.toString('utf8')
  // In other encodings, the same bytes are other characters. The renderer must see the text that is checked here.
  const encoding = /^\uFEFF?\s*<\?xml[^>]*\sencoding\s*=\s*["']\s*([^"'\s]*)/i.exec(source)?.[1] ?? 'utf-8'
  // oxlint-disable-next-line no-control-regex -- searches for control characters
  if (!/^(utf-?8|us-ascii)$/i.test(encoding) || /[\u0000-\u0008\u000B\u000C\u000E-\u001F]/.test(source)) {
    throw UnsafeFile({ message: 'The SVG image is not UTF-8 text. Save it again as UTF-8.' })
  }
  const text = withoutReferences(source)
  for (const form of [text, withoutEscapes(text)]) {
    for (const [pattern, what] of FORBIDDEN) {
      if (pattern.test(form))
        throw UnsafeFile({
          message: `The SVG image contains ${what}. Remove all ${what} from it, or send a PNG image.`,
        })
    }
  }
  const read = (part: string) => withoutEscapes(withoutReferences(part))
  if (renderingCost(source, read) > MAX_COST) {
    throw UnsafeFile({
      message:
        'The SVG image has too many elements, filters or masks to be rendered. Simplify it, or send a PNG image.',
    })
  }
  return embeddedImages(text)
}

/** Decodes character references of XML, as a parser does. */
function withoutReferences(text: string): string {
  return text
    .replaceAll(/&#x([0-9a-f]{1,6});?/gi, (_all, hex: string) => character(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d{1,7});?/g, (_all, digits: string) => character(Number(digits)))
    .replaceAll(/&(?:Tab|NewLine);/g, '')
}

/** Decodes escapes of CSS (Syntax Module Level 3, section 4.3.7). */
function withoutEscapes(text: string): string {
  return text.replaceAll(/\\(?:([0-9a-f]{1,6})\s?|([^0-9a-f\n]))/gi, (_all, hex: string | undefined, sign = '') =>
    hex === undefined ? String(sign) : character(Number.parseInt(hex, 16)),
  )
}

function character(code: number): string {
  // Browsers skip tabs and line breaks within `javascript:`.
  if (code < 32) return ''
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

function embeddedImages(text: string): Buffer[] {
  return [...text.matchAll(new RegExp(`${IMAGE_DATA}([^"')<>]*)`, 'gi'))].map(([, data = '']) =>
    Buffer.from(
      data.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) => character(Number.parseInt(hex, 16))),
      'base64',
    ),
  )
}
