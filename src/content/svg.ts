import { UnsafeFile, UnsupportedFile } from './errors.ts'
import { drawingCost } from './svg-weight.ts'

/** Bytes of a drawing: it is read whole, and drawn by a program. */
const MOST_BYTES = 1_000_000
/**
 * Plain elements, or what costs as much. The largest maps have fewer elements. What passes may still take long, as an
 * element may cover all of the drawing or a corner of it: media work bounds the time that drawing takes
 * (`media/work/thumbnails/svg.ts`).
 */
const MOST_COST = 100_000

/** Whether a text begins as an SVG drawing does. */
export function looksLikeSvg(head: Buffer): boolean {
  const text = head.toString('utf8', 0, 4_096).replace(/^\uFEFF/, '')
  return /^\s*(<\?xml[^>]*>\s*)?(<!--[^]*?-->\s*)*(<!DOCTYPE[^[>]*>\s*)?(<!--[^]*?-->\s*)*<svg[\s>]/i.test(text)
}

/** A name may have a prefix of any letters, which says nothing of what it stands for. */
const PREFIX = String.raw`<\s*(?:[^\s<>/:=]+:)?`
/** What a picture within the drawing is given as; `embeddedPictures` reads the same. */
const PICTURE = String.raw`data:image/(?:png|jpeg|jpg|webp|gif);base64,`

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/<!ENTITY|<!DOCTYPE[^<>[]*\[/i, 'entities'],
  [new RegExp(`${PREFIX}(?:script|foreignObject|iframe|object|embed|audio|video|handler|listener)\\b`, 'i'), 'scripts'],
  [/1999\/xhtml/i, 'pages'],
  [/\battributeName\s*=\s*(?:["']\s*)?(?:on|(?:[^\s"':]{1,100}:)?href)/i, 'scripts'],
  [/[\s"'/]on[a-z]+\s*=/i, 'scripts'],
  [/(?:java|vb)script\s*:|<\?php/i, 'scripts'],
  [new RegExp(`(?:href|src)\\s*=\\s*(?:["']\\s*)?(?!#|["']|${PICTURE})[^\\s"'>]`, 'i'), 'links to outside'],
  [new RegExp(`url\\(\\s*(?:["']\\s*)?(?!#|${PICTURE})[^\\s"')]`, 'i'), 'links to outside'],
  [/@import|<\?xml-stylesheet|\b(?:image-set|image|src)\(/i, 'links to outside'],
]

/**
 * Lets a drawing through that can only be looked at.
 * @returns the pictures that are embedded in it, as they would be decoded: nobody has judged them yet
 * @throws AppError unsafe_file, unsupported_file
 */
export function checkSvg(content: Buffer, size: number): Buffer[] {
  if (size > MOST_BYTES) throw UnsupportedFile({ message: `An SVG drawing may have ${MOST_BYTES} bytes.` })
  const source = content.toString('utf8')
  // In other encodings the same bytes are other signs, and some bytes none at all: what is read here is what is drawn.
  const encoding = /^\uFEFF?\s*<\?xml[^>]*\sencoding\s*=\s*["']\s*([^"'\s]*)/i.exec(source)?.[1] ?? 'utf-8'
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (!/^(utf-?8|us-ascii)$/i.test(encoding) || /[\u0000-\u0008\u000B\u000C\u000E-\u001F]/.test(source)) {
    throw UnsafeFile({ message: 'The SVG drawing is not UTF-8 text.' })
  }
  const text = withoutReferences(source)
  for (const form of [text, withoutEscapes(text)]) {
    for (const [pattern, what] of FORBIDDEN) {
      if (pattern.test(form)) throw UnsafeFile({ message: `The SVG drawing has ${what} in it.` })
    }
  }
  const read = (part: string) => withoutEscapes(withoutReferences(part))
  if (drawingCost(source, read) > MOST_COST) {
    throw UnsafeFile({ message: 'The SVG drawing has too many parts, filters or masks to be drawn.' })
  }
  return embeddedPictures(text)
}

/** Character references of XML hide what a parser sees. */
function withoutReferences(text: string): string {
  return text
    .replaceAll(/&#x([0-9a-f]{1,6});?/gi, (_all, hex: string) => character(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d{1,7});?/g, (_all, digits: string) => character(Number(digits)))
    .replaceAll(/&(?:Tab|NewLine);/g, '')
}

/** So do escapes of CSS (Syntax Module Level 3, section 4.3.7). */
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

function embeddedPictures(text: string): Buffer[] {
  return [...text.matchAll(new RegExp(`${PICTURE}([^"')<>]*)`, 'gi'))].map(([, data = '']) =>
    Buffer.from(
      data.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) => character(Number.parseInt(hex, 16))),
      'base64',
    ),
  )
}
