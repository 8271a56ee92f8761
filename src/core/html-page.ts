import { escapeHtml } from '../tools/html.ts'
import { RawBody, reply } from './reply.ts'

export const HTML = 'text/html; charset=utf-8'

export interface HtmlPage {
  /** The heading. */
  readonly title: string
  /** The title of the tab; `title` when absent. */
  readonly tabTitle?: string
  /** HTML above the heading. */
  readonly header?: string
  /** HTML below the heading. */
  readonly body: string
  /** BCP 47; English when absent. */
  readonly language?: string
  /** How the reader wants pages to look: the user's `ui` settings. */
  readonly appearance?: { readonly theme: string; readonly density: string }
  /** CSS in place of the usual one. */
  readonly style?: string
  /** Headers that are added, or replace the usual ones. */
  readonly headers?: Readonly<Record<string, string>>
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;overflow-wrap:anywhere}button{font:inherit;padding:.6rem 1rem;min-height:3rem}[data-theme=light]{color-scheme:light}[data-theme=dark]{color-scheme:dark}[data-density=compact] body{line-height:1.25;margin-top:1rem}[data-density=compact] button{padding:.2rem .8rem;min-height:2rem}'

/** A page that an operation returns. It has no scripts, loads nothing, and can only send forms to this server. */
export function htmlPage<S extends number>(status: S, page: HtmlPage) {
  const { appearance, body, header = '', headers, language = 'en', style = STYLE, title } = page
  const shown = appearance && ` data-theme="${appearance.theme}" data-density="${appearance.density}"`
  const html = `<!doctype html>
<html lang="${language}"${shown ?? ''}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${escapeHtml(page.tabTitle ?? title)}</title>
<style>${style}</style>
</head>
<body>${header}<main><h1>${escapeHtml(title)}</h1>
${body}
</main></body>
</html>
`
  return reply(status, new RawBody(HTML, html), {
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ...headers,
  })
}
