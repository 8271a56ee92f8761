import { escapeHtml } from '../tools/html.ts'
import { GUARDED, page } from './page.ts'
import type { PageContent } from './server.ts'

/** A page of the documentation. `body` is the HTML below the heading. */
export interface DocPage {
  readonly title: string
  readonly body: string
}

const LINKS = [
  ['/docs', 'API'],
  ['/docs/getting-started', 'Getting started'],
  ['/docs/sockets', 'Sockets and events'],
  ['/docs/states', 'States'],
  ['/docs/errors', 'Errors'],
  ['/docs/operations', 'Running Crier'],
  ['/docs/proxies', 'Proxies'],
]

/** Renders the page. It runs no scripts and loads nothing. */
export function docPage({ body, title }: DocPage): PageContent {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – Crier</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
  nav a { margin-right: 1rem; }
  h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
  code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
  pre { overflow: auto; padding: .75rem; border: 1px solid #8886; border-radius: .25rem; }
  section:target { outline: 2px solid Highlight; outline-offset: .5rem; }
  table { border-collapse: collapse; }
  th, td { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid #8883; }
  dt { font-weight: 600; }
  dd { margin: 0 0 .75rem 0; }
</style>
</head>
<body>
<nav>${LINKS.map(([path, name]) => `<a href="${path}">${name}</a>`).join('\n')}</nav>
<h1>${escapeHtml(title)}</h1>
${body}
</body>
</html>
`
  return page('text/html; charset=utf-8', html, GUARDED)
}

/** Converts text with `code` in backticks to HTML. */
export function markup(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** An HTML table. Each cell is Markdown with inline code only. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: 'th' | 'td') =>
    `<tr>${cells.map((cell) => `<${tag}>${markup(cell)}</${tag}>`).join('')}</tr>`
  return `<table><thead>${line(head, 'th')}</thead><tbody>\n${rows.map((row) => line(row, 'td')).join('\n')}\n</tbody></table>`
}

/** Calls `make` once, on first use, and caches the result. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
