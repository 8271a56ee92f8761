import { UnsafeFile, UnsupportedFile } from '../errors.ts'

/** Bytes of a drawing: it is read whole, and drawn by a program. */
const MOST_BYTES = 1_000_000

/** Whether a text begins as an SVG drawing does. */
export function looksLikeSvg(head: Buffer): boolean {
  const text = head.toString('utf8', 0, 4_096).replace(/^\uFEFF/, '')
  return /^\s*(<\?xml[^>]*>\s*)?(<!--[^]*?-->\s*)*(<!DOCTYPE[^[>]*>\s*)?(<!--[^]*?-->\s*)*<svg[\s>]/i.test(text)
}

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/<!ENTITY|<!DOCTYPE[^>]*\[/i, 'entities'],
  [/<\s*(?:[\w-]+:)?(?:script|foreignObject|iframe|object|embed|audio|video|handler|listener)\b/i, 'scripts or pages'],
  [/<\s*(?:[\w-]+:)?(?:set|animate)\b[^>]*attributeName\s*=\s*["']?\s*(?:on|xlink:href|href)/i, 'scripts'],
  [/[\s"'/]on[a-z]+\s*=/i, 'scripts'],
  [/(?:java|vb)script\s*:/i, 'scripts'],
  [/(?:href|src)\s*=\s*["']?\s*(?!#|["']|data:image\/(?:png|jpeg|webp|gif)[;,])[^\s"'>]/i, 'links to outside'],
  [/url\(\s*["']?\s*(?!#|data:image\/(?:png|jpeg|webp|gif)[;,])[^\s"')]/i, 'links to outside'],
  [/@import|<\?xml-stylesheet/i, 'links to outside'],
]

/** Lets a drawing through that can only be looked at. @throws AppError unsafe_file, unsupported_file */
export function checkSvg(content: Buffer, size: number): void {
  if (size > MOST_BYTES) throw UnsupportedFile({ message: `An SVG drawing may have ${MOST_BYTES} bytes.` })
  // Character references hide what a parser sees.
  const text = content
    .toString('utf8')
    .replaceAll(/&#x([0-9a-f]{1,6});?/gi, (_all, hex: string) => character(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d{1,7});?/g, (_all, digits: string) => character(Number(digits)))
    .replaceAll(/&(?:Tab|NewLine);/g, '')
  if (content.includes(0)) throw UnsafeFile({ message: 'The SVG drawing is not UTF-8 text.' })
  for (const [pattern, what] of FORBIDDEN) {
    if (pattern.test(text)) throw UnsafeFile({ message: `The SVG drawing has ${what} in it.` })
  }
}

function character(code: number): string {
  // Browsers skip tabs and line breaks within `javascript:`.
  if (code < 32) return ''
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}
