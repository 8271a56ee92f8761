import { STATUS_CODES } from 'node:http'
import type { ErrorDefinition } from '../core/error.ts'

/** The page that explains every error code, each under its own anchor: where `docUrl` of an error body leads. */
export function errorPage(errors: readonly ErrorDefinition[]): string {
  const statuses = [...new Set(errors.map((error) => error.status))]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors of the Crier API</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
  h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
  code { font-family: ui-monospace, monospace; }
  section:target { outline: 2px solid Highlight; outline-offset: .5rem; }
  dt { font-weight: 600; }
  dd { margin: 0 0 .5rem 0; }
</style>
</head>
<body>
<h1>Errors</h1>
<p>Every error body names its <code>code</code>; codes never change. <a href="/docs">All operations</a></p>
${statuses
  .map(
    (status) =>
      `<h2>${status} ${STATUS_CODES[status]}</h2>\n${errors
        .filter((error) => error.status === status)
        .map(section)
        .join('\n')}`,
  )
  .join('\n')}
</body>
</html>
`
}

function section(error: ErrorDefinition): string {
  return `<section id="${escape(error.code)}">
<h3><a href="#${escape(error.code)}"><code>${escape(error.code)}</code></a></h3>
<p>${markup(error.message)}</p>
<dl><dt>Cause</dt><dd>${markup(error.cause)}</dd><dt>Fix</dt><dd>${markup(error.fix)}</dd></dl>
</section>`
}

function markup(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
