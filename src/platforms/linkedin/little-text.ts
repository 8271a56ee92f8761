/**
 * Little Text, the format of LinkedIn’s commentary. Its reserved characters need a backslash; a text with an unescaped one
 * is cut there or refused (learn.microsoft.com, little Text Format, 2026-11).
 */
const RESERVED = /[\\|{}@[\]()<>#*_~]/g
const HASHTAG_OR_RESERVED = /(?<![\p{L}\p{N}_&/])#([\p{L}\p{N}_]*\p{L}[\p{L}\p{N}_]*)|[\\|{}@[\]()<>#*_~]/gu

/** A plain text as Little Text, with its hashtags as such. */
export function littleText(text: string): string {
  return text.replaceAll(HASHTAG_OR_RESERVED, (match, hashtag: string | undefined) =>
    hashtag === undefined ? `\\${match}` : `{hashtag|\\#|${hashtag.replaceAll(RESERVED, String.raw`\$&`)}}`,
  )
}

/** The plain text of a Little Text. An unclosed name ends where the next one begins, so that none searches the whole text. */
export function plainText(text: string): string {
  return text
    .replaceAll(/\{hashtag\|\\?#\|((?:\\.|[^{}\\])*)\}/g, '#$1')
    .replaceAll(/@\[((?:\\.|[^[\]\\])*)\]\([^()]*\)/g, '$1')
    .replaceAll(/\\(.)/g, '$1')
}
