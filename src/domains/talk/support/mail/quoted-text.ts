import { LANGUAGES, textsFor } from '../../../../language/texts.ts'

/** The line above which a user writes a reply, in each language. Our mails begin with it. */
const REPLY_LINES = LANGUAGES.map((language) => textsFor(language).say('mail.support.replyLine'))

/** Lines with which mail programs introduce what they quote, in several languages. */
const INTRODUCTIONS = [
  /^-{2,}\s*(original message|ursprüngliche nachricht|message d’origine|mensaje original|messaggio originale)\s*-{2,}$/i,
  /^_{10,}$/,
  /^on\b.{5,200}\bwrote:$/is,
  /^am\b.{5,200}\bschrieb\b.{0,200}:$/is,
  /^le\b.{5,200}\ba écrit\s*:$/is,
  /^el\b.{5,200}\bescribió:$/is,
  /^il\b.{5,200}\bha scritto:$/is,
  /^op\b.{5,200}\bschreef\b.{0,200}:$/is,
]
/** How many lines an introduction can be broken into. */
const MOST_LINES = 4

/** What an introduction begins with. Most lines need no other look. */
const BEGINNING = /^(?:[-_]{2}|(?:on|am|le|el|il|op)\b)/i

/** Characters of a mail that are read. A message of a ticket has far fewer. */
const MOST_READ = 100_000

/** Header lines of a quoted mail, as Outlook writes them. */
const FROM = /^\*?(from|von|de|da|van)\s?:\*?\s.*(@|<|\w)/i
const SENT = /^\*?(sent|gesendet|date|datum|envoyé|enviado|inviato|verzonden|to|an|à|para|a|aan)\s?:/i

/**
 * What the writer of a mail has added: the text without the quoted mail at its end. A quote in the middle of the text
 * stays, because the writer has answered below it. If nothing is left, the whole text is kept.
 */
export function withoutQuotedText(text: string): string {
  const lines = text.slice(0, MOST_READ).replaceAll(/\r\n?/g, '\n').split('\n')
  const end = quoteStart(lines)
  const kept = withoutTrailingQuotes(lines.slice(0, end))
  const written = kept.join('\n').trim()
  return written === '' ? text.trim() : written
}

/** The index of the first line that belongs to the quoted mail; the number of lines without one. */
function quoteStart(lines: readonly string[]): number {
  const quotes = quotesOf(lines)
  for (let index = 0; index < lines.length; index += 1) {
    const line = bare(lines[index])
    if (REPLY_LINES.some((own) => line.includes(own))) return introducedAt(lines, index)
    if (FROM.test(line) && lines.slice(index + 1, index + 4).some((next) => SENT.test(bare(next)))) return index
    if (isIntroduction(lines, index) && isFollowedByQuotesOnly(lines, index, quotes)) return index
  }
  return lines.length
}

/** Where the introduction of the quote that contains a line begins. */
function introducedAt(lines: readonly string[], index: number): number {
  for (let start = Math.max(0, index - MOST_LINES - 2); start < index; start += 1) {
    if (isIntroduction(lines, start)) return start
  }
  return index
}

function isIntroduction(lines: readonly string[], index: number): boolean {
  if (!BEGINNING.test(bare(lines[index]))) return false
  for (let count = 1; count <= MOST_LINES; count += 1) {
    const joined = lines
      .slice(index, index + count)
      .map((line) => bare(line))
      .join(' ')
    if (INTRODUCTIONS.some((pattern) => pattern.test(joined))) return true
  }
  return false
}

/** What follows each line, found once, so that any number of introductions takes one look at each line. */
interface Quotes {
  /** The first quoted line after a line; the number of lines if there is none. */
  readonly next: Uint32Array
  /** The first line from which on all lines are quoted or empty. */
  readonly onlyFrom: number
}

function quotesOf(lines: readonly string[]): Quotes {
  const next = new Uint32Array(lines.length + 1)
  let first = lines.length
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    next[index] = first
    if (isQuote(lines[index])) first = index
  }
  return { next, onlyFrom: withoutTrailingQuotes(lines).length }
}

function isQuote(line: string | undefined): boolean {
  return line?.trimStart().startsWith('>') ?? false
}

/** Whether no own text follows an introduction, as it does when the writer answers between the quoted lines. */
function isFollowedByQuotesOnly(lines: readonly string[], index: number, { next, onlyFrom }: Quotes): boolean {
  const firstQuote = next[index] ?? lines.length
  // Without quotation marks, all that follows is the quoted mail, if the introduction has a date or an address. Otherwise
  // it can be a sentence of the writer.
  return firstQuote === lines.length ? /\d|@|^[-_]{2}/.test(bare(lines[index])) : firstQuote >= onlyFrom
}

function withoutTrailingQuotes(lines: readonly string[]): readonly string[] {
  let end = lines.length
  while (end > 0 && (lines[end - 1]?.trim() === '' || isQuote(lines[end - 1]))) end -= 1
  return lines.slice(0, end)
}

function bare(line: string | undefined): string {
  return (line ?? '').replace(/^[\s>]+/, '').trim()
}
