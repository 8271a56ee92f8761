import { convert } from 'html-to-text'
import type { ParsedMail } from 'mailparser'
import { cleanText, cleanTexts } from '../../../../tools/clean-text.ts'
import { mendMail } from './mend-mail.ts'

/** HTML that is converted to text, in UTF-16 units. What is longer stays in the original. */
const MAX_HTML = 200_000
/** How deep mails in mails are read. Deeper ones stay files. */
const MAX_FORWARDED = 3

export type ReceivedMail = Pick<
  ParsedMail,
  | 'attachments'
  | 'cc'
  | 'from'
  | 'headerLines'
  | 'headers'
  | 'inReplyTo'
  | 'messageId'
  | 'references'
  | 'subject'
  | 'to'
> & {
  /** What the mail says, without markup. Empty if it has no text. */
  readonly text: string
  /** The HTML that `text` was converted from, if the mail has no text of its own. */
  readonly html: string | undefined
}

/**
 * Reads a mail as it was received (RFC 5322). Of HTML without a text beside it, it makes text, and mails that are forwarded
 * as attachments become part of the text. All texts are clean: NUL and other characters that cannot be stored are left out.
 */
export async function readMail(raw: Buffer, depth = 0): Promise<ReceivedMail> {
  // Loaded with the first mail: most servers never receive one.
  const { simpleParser } = await import('mailparser')
  const options = { skipTextToHtml: true, skipImageLinks: true, maxHtmlLengthToParse: MAX_HTML }
  const parsed = await simpleParser(await mendMail(raw), options)
  const { cc, from, headerLines, headers, inReplyTo, messageId, references, subject, to } = parsed
  const html = htmlWithoutText(parsed)
  const mail = cleanTexts({ cc, from, inReplyTo, messageId, references, subject, to }) as Pick<ReceivedMail, 'from'>
  const text = html === undefined ? cleanText(parsed.text ?? '').trim() : textOf(html)
  const attachments: ParsedMail['attachments'] = []
  const forwarded: string[] = []
  for (const file of parsed.attachments) {
    if (file.contentType === 'message/rfc822' && depth < MAX_FORWARDED) {
      const inner = await readMail(file.content, depth + 1)
      forwarded.push(forwardedText(inner))
      attachments.push(...inner.attachments)
    } else attachments.push({ ...file, ...(file.filename && { filename: cleanText(file.filename) }) })
  }
  return {
    ...mail,
    attachments,
    headerLines,
    headers: new Map([...headers].map(([name, value]) => [name, typeof value === 'string' ? cleanText(value) : value])),
    html,
    text: [text, ...forwarded].join('\n\n').trim(),
  }
}

/** The HTML of a mail that has no text beside it. */
function htmlWithoutText({ headerLines, html, text }: ParsedMail): string | undefined {
  if (typeof html !== 'string' || html.trim() === '') return undefined
  const isAllHtml = headerLines.some(({ key, line }) => key === 'content-type' && /^[^:]*:\s*text\/html/i.test(line))
  return isAllHtml || (text ?? '').trim() === '' ? html : undefined
}

/** A forwarded mail as Gmail writes it in the text. */
function forwardedText({ from, subject, text }: ReceivedMail): string {
  return `---------- Forwarded message ---------\nFrom: ${from?.text ?? ''}\nSubject: ${subject ?? ''}\n\n${text}`
}

/** The text that HTML shows. Quotes begin with `>`, as in plain text, and links are followed by their address. */
function textOf(html: string): string {
  const text = convert(html.slice(0, MAX_HTML), {
    wordwrap: false,
    limits: { maxInputLength: MAX_HTML, maxDepth: 100 },
    // The whole input: a mail can have several documents, one after the other.
    baseElements: { selectors: [] },
    selectors: [
      { selector: 'body', format: 'block', options: { leadingLineBreaks: 2, trailingLineBreaks: 2 } },
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
      { selector: 'table', format: 'block' },
    ],
  })
  return cleanText(text)
    .replaceAll('\u00A0', ' ')
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}
