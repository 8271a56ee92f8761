/**
 * How many fields and items a JSON body may have, counted as brackets, commas and colons outside of texts. To parse so
 * many takes a few milliseconds. A megabyte of text takes one, and a megabyte of `[]` takes 40.
 */
export const DEFAULT_JSON_MARKS = 20_000

/** The same for bodies that can need more: many posts, large designs. To parse so many takes tens of milliseconds. */
export const MAX_JSON_MARKS = 250_000

const [QUOTE, COMMA, COLON, BRACKET, BRACE] = [0x22, 0x2c, 0x3a, 0x5b, 0x7b]
const BACKSLASH = 0x5c

/** Whether a JSON text has more fields and items than may be parsed. It may be any text. */
export function hasTooManyMarks(text: string, most: number): boolean {
  let marks = 0
  // Each mark is a character.
  if (text.length <= most) return false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfText(text, at)
      if (at === -1) return false
    } else if (code === COMMA || code === COLON || code === BRACKET || code === BRACE) {
      marks += 1
      if (marks > most) return true
    }
  }
  return false
}

/** The closing quotation mark of a JSON text that opens at `start`, or -1. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1) {
    let first = end
    while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
    if ((end - first) % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}
