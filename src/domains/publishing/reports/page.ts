import { escapeHtml } from '../../../core/html.ts'
import { RawBody, reply } from '../../../core/reply.ts'
import type { Texts } from '../../../language/texts.ts'

export const HTML = 'text/html; charset=utf-8'

/** A page of a link in a mail: a sentence, and a button if there is something to decide. */
export function pageReply<S extends 200 | 404>(status: S, texts: Texts, sentence: string, button?: string) {
  const title = escapeHtml(texts.say('reportMails.title'))
  const form = button === undefined ? '' : `<form method="post"><button>${escapeHtml(button)}</button></form>`
  const role = button !== undefined ? '' : status === 200 ? ' role="status"' : ' role="alert"'
  const html = `<!doctype html>
<html lang="${texts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;overflow-wrap:anywhere}button{font:inherit;padding:.6rem 1rem;min-height:3rem}</style>
</head>
<body><main><h1>${title}</h1>
<p${role}>${escapeHtml(sentence)}</p>
${form}
</main></body>
</html>
`
  return reply(status, new RawBody(HTML, html), {
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  })
}
