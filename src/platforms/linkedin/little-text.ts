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

/** The plain text of a Little Text. Names are bounded, so that an unclosed one does not search the whole text for its end. */
export function plainText(text: string): string {
  return text
    .replaceAll(/\{hashtag\|\\?#\|((?:\\.|[^}\\]){0,300})\}/g, '#$1')
    .replaceAll(/@\[((?:\\.|[^\]\\]){0,300})\]\([^)]{0,300}\)/g, '$1')
    .replaceAll(/\\(.)/g, '$1')
}
