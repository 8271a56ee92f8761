/**
 * A text as it is compared with others: lower case, without accents and punctuation. Letters outside of ASCII are
 * written as four ASCII characters, because PostgreSQL finds trigrams only in what the locale of its database calls
 * letters, and the embedded one has the locale C.
 */
export function matchText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .replaceAll(/[^a-z0-9 ]/gu, (letter) => (letter.codePointAt(0) ?? 0).toString(36).padStart(4, '0'))
    .trim()
}
