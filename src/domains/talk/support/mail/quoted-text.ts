import { LANGUAGES, textsFor } from '../../../../language/texts.ts'
import { MAX_TEXT } from '../schemas.ts'

/** The line above which a user writes a reply, in each language. Our mails begin with it. */
const REPLY_LINES = LANGUAGES.map((language) => textsFor(language).say('mail.support.replyLine'))

/** Lines with which mail programs introduce what they quote, in several languages. */
const INTRODUCTIONS = [
  // Outlook, above the headers of the quoted mail.
  /^-{2,}\s*(original message|ursprüngliche nachricht|message d’origine|mensaje original|messaggio originale|mensagem original|oryginalna wiadomość|исходное сообщение|元のメッセージ|原始邮件|邮件原件)\s*-{2,}$/i,
  /^_{10,}$/,
  // Gmail, Apple Mail and Thunderbird, with a date and a name.
  /^on\b.{5,200}\bwrote:$/is,
  /^am\b.{5,200}\bschrieb\b.{0,200}:$/is,
  /^le\b.{5,200}\ba écrit\s*:$/is,
  /^el\b.{5,200}\bescribió:$/is,
  /^il\b.{5,200}\bha scritto:$/is,
  /^op\b.{5,200}\bschreef\b.{0,200}:$/is,
  /^(?:em|no dia|a)\b.{5,200}\bescreveu:$/is,
  /^(?=.*\d).{5,400}\s(?:napisał\(?a?\)?|pisze):$/is,
  /^(?=.*\d).{5,400}\sнаписал(?:\(а\)|а)?:$/is,
  /^(?:пн|вт|ср|чт|пт|сб|вс)\s*,.{5,200}>\s*:$/is,
  /^.{0,200}(?:于|在)\s*\d{4}\s*年.{5,200}(?:写道|寫道)\s*[:：]$/is,
  /^\d{4}\s*年\s*\d{1,2}\s*月\s*\d{1,2}\s*日.{2,200}(?:[:：]|のメール[:：]|書きました[:：])$/is,
]
/** How many lines an introduction can be broken into. */
const MAX_LINES = 4

/** Characters of an introduction. */
const MAX_INTRODUCTION = 600

/** How an introduction ends. Most lines need no other look. */
const ENDING = /[:：_-]$/

/** Characters of a mail that are read. A message of a ticket has no more. */
const MAX_READ = MAX_TEXT

/** Header lines of a quoted mail, as Outlook writes them. */
const FROM = /^\*?(from|von|de|da|van|od|от|差出人|发件人|寄件者)\s?[:：]\*?\s*(@|<|\S)/i
const SENT =
  /^\*?(sent|gesendet|date|datum|envoyé|enviado|enviada|inviato|verzonden|wysłano|data|отправлено|дата|送信日時|日付|发送时间|日期|寄件日期|to|an|à|para|a|aan|do|кому|宛先|收件人)\s?[:：]/i

/** The words before a subject with which mail programs mark a mail that is passed on. */
const FORWARD_SUBJECT = /^\s*(fwd?|wg|tr|rv|i|enc|pd|vs|doorst|пересл|fw转发|转发|轉寄|転送)\s*[:：]/i
const FORWARD_LINE =
  /^(?:-{4,}\s*(forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado|messaggio inoltrato|mensagem encaminhada|doorgestuurd bericht|przekazana wiadomość|пересылаемое сообщение|転送されたメッセージ|转发的邮件|轉寄郵件)|(?:begin forwarded message|anfang der weitergeleiteten nachricht|début du message transféré|inicio del mensaje reenviado|inizio messaggio inoltrato|início da mensagem encaminhada)\s*:)/im

/** Whether a mail passes another one on, so that what it quotes is what its writer wants to show. */
export function isForwarded({ subject = '', text }: { readonly subject?: string | undefined; readonly text: string }) {
  return FORWARD_SUBJECT.test(subject) || FORWARD_LINE.test(text)
}

/**
 * What the writer of a mail has added: the text without the quoted mail at its end, or at its beginning where the whole
 * answer is below it. A quote in the middle of the text stays, because the writer has answered below it. If nothing is
 * left, the whole text is kept.
 */
export function withoutQuotedText(text: string): string {
  const lines = text.slice(0, MAX_READ).replaceAll(/\r\n?/g, '\n').split('\n')
  const below = belowQuote(lines)
  if (below !== undefined) return below
  const end = quoteStart(lines)
  const kept = withoutTrailingQuotes(lines.slice(0, end))
  const written = kept.join('\n').trim()
  return written === '' ? text.trim() : written
}

/** The answer, if the mail is an introduction, one quote, and an answer below it. */
function belowQuote(lines: readonly string[]): string | undefined {
  const first = lines.findIndex((line) => line.trim() !== '')
  const start = lines.findIndex((line) => isQuoted(line))
  if (first === -1 || start === -1 || start - first > MAX_LINES) return undefined
  if (start > first && !isIntroduction(lines, first)) return undefined
  let end = start
  while (end < lines.length && (isQuoted(lines[end]) || isGap(lines, end))) end += 1
  const rest = lines.slice(end)
  const written = rest.join('\n').trim()
  // A quote without an introduction is a part of the text, unless it has our line.
  const isOurs = lines.slice(start, end).some((line) => REPLY_LINES.some((own) => line.includes(own)))
  if (start === first && !isOurs) return undefined
  return written === '' || rest.some((line) => isQuoted(line)) ? undefined : written
}

function isQuoted(line: string | undefined): boolean {
  return (line ?? '').trimStart().startsWith('>')
}

/** An empty line between two quoted ones. */
function isGap(lines: readonly string[], index: number): boolean {
  return lines[index]?.trim() === '' && isQuoted(lines[index + 1])
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
  for (let start = Math.max(0, index - MAX_LINES - 2); start < index; start += 1) {
    if (isIntroduction(lines, start)) return start
  }
  return index
}

function isIntroduction(lines: readonly string[], index: number): boolean {
  let joined = ''
  for (let count = 1; count <= MAX_LINES; count += 1) {
    const line = bare(lines[index + count - 1])
    joined += `${count === 1 ? '' : ' '}${line}`
    if (line === '' || joined.length > MAX_INTRODUCTION) return false
    if (ENDING.test(line) && INTRODUCTIONS.some((pattern) => pattern.test(joined))) return true
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
    if (isQuoted(lines[index])) first = index
  }
  return { next, onlyFrom: withoutTrailingQuotes(lines).length }
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
  while (end > 0 && (lines[end - 1]?.trim() === '' || isQuoted(lines[end - 1]))) end -= 1
  return lines.slice(0, end)
}

function bare(line: string | undefined): string {
  return (line ?? '').replace(/^[\s>]+/, '').trim()
}
