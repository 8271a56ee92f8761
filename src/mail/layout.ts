import { escapeHtml } from '../tools/html.ts'
import { textsFor, type Texts } from '../language/texts.ts'
import type { Mail } from './mailer.ts'

/** One block of a mail: a paragraph, a heading, a code to type, or a link. */
export type Block =
  | string
  | { readonly heading: string }
  | { readonly code: string }
  | { readonly link: string; readonly label: string }

/** What a mail has besides its blocks. */
export interface MailOptions {
  /** The texts in the language of the reader. English when absent. */
  readonly texts?: Texts
  /** Why the reader gets it, and the link that ends mails of this kind. */
  readonly unsubscribe?: { readonly url: string; readonly label: string }
}

/**
 * Renders a mail as text and as HTML for all mail programs: without pictures, with inline styles, and with colors for
 * light and dark mode. A mail with `unsubscribe` has the headers for one click of RFC 8058.
 */
export function renderMail(
  to: string,
  subject: string,
  blocks: readonly Block[],
  { texts = textsFor('en'), unsubscribe }: MailOptions = {},
): Mail {
  return {
    to,
    subject,
    text: renderText(blocks, unsubscribe),
    html: renderHtml(subject, blocks, texts.language, unsubscribe),
    ...(unsubscribe !== undefined && {
      headers: { 'List-Unsubscribe': `<${unsubscribe.url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
    }),
  }
}

type Unsubscribe = MailOptions['unsubscribe']

function renderText(blocks: readonly Block[], unsubscribe: Unsubscribe): string {
  const footer = unsubscribe === undefined ? 'Crier' : `Crier\n${unsubscribe.label}:\n${unsubscribe.url}`
  return `${blocks.map(textOf).join('\n\n')}\n\n-- \n${footer}\n`
}

function textOf(block: Block): string {
  if (typeof block === 'string') return block
  if ('heading' in block) return `* ${block.heading}`
  return 'code' in block ? `    ${block.code}` : `${block.label}:\n${block.link}`
}

/**
 * Programs that know neither style elements nor dark mode show the inline colors of light mode. Those that know dark
 * mode use the style element.
 */
const DARK = `:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme: dark){
body,.page{background:#16161d!important;color:#e8e8ee!important}
.card{background:#22222c!important;color:#e8e8ee!important}
.small,.small a{color:#a5a5b5!important}
.button{background:#8d8dff!important;color:#101018!important}
}`

function renderHtml(subject: string, blocks: readonly Block[], language: string, unsubscribe: Unsubscribe): string {
  const footer =
    unsubscribe === undefined
      ? 'Crier'
      : `Crier · <a href="${escapeHtml(unsubscribe.url)}" style="color:#5c5c6b">${escapeHtml(unsubscribe.label)}</a>`
  return `<!doctype html>
<html lang="${escapeHtml(language)}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>${escapeHtml(subject)}</title><style>${DARK}</style></head>
<body class="page" style="margin:0;padding:24px;background:#f4f4f6;font:16px/1.5 system-ui,Segoe UI,Helvetica,Arial,sans-serif;color:#1c1c28">
<div class="card" style="max-width:520px;margin:0 auto;padding:32px;background:#ffffff;border-radius:12px;overflow-wrap:anywhere">
${blocks.map(htmlOf).join('\n')}
</div>
<p class="small" style="max-width:520px;margin:16px auto 0;font-size:13px;color:#5c5c6b">${footer}</p>
</body>
</html>
`
}

function htmlOf(block: Block): string {
  if (typeof block === 'string') return `<p style="margin:0 0 16px">${escapeHtml(block).replaceAll('\n', '<br>')}</p>`
  if ('heading' in block) return `<h2 style="margin:24px 0 8px;font-size:17px">${escapeHtml(block.heading)}</h2>`
  if ('code' in block) {
    return `<p style="margin:24px 0;font:700 32px/1 ui-monospace,Menlo,Consolas,monospace;letter-spacing:6px">${escapeHtml(block.code)}</p>`
  }
  const link = escapeHtml(block.link)
  return `<p style="margin:24px 0"><a class="button" href="${link}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#3b3bd6;color:#ffffff;text-decoration:none">${escapeHtml(block.label)}</a></p>
<p class="small" style="margin:0 0 16px;font-size:13px;color:#5c5c6b;word-break:break-all">${link}</p>`
}
