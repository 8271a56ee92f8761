import { STATUS_CODES } from 'node:http'
import type { ErrorDefinition } from '../core/error.ts'
import { escapeHtml } from '../tools/html.ts'
import { markup, type DocPage } from './doc-page.ts'

/** The page that explains all error codes, each with an anchor. `docUrl` of an error body links to it. */
export function errorPage(errors: readonly ErrorDefinition[]): DocPage {
  const statuses = [...new Set(errors.map((error) => error.status))]
  const parts = statuses.map((status) => {
    const sections = errors.filter((error) => error.status === status).map(section)
    return `<h2>${status} ${STATUS_CODES[status]}</h2>\n${sections.join('\n')}`
  })
  return {
    title: 'Errors',
    body: `<p>Every error body has a <code>code</code>. Codes never change.</p>\n${parts.join('\n')}`,
  }
}

function section(error: ErrorDefinition): string {
  return `<section id="${escapeHtml(error.code)}">
<h3><a href="#${escapeHtml(error.code)}"><code>${escapeHtml(error.code)}</code></a></h3>
<p>${markup(error.message)}</p>
<dl><dt>Cause</dt><dd>${markup(error.cause)}</dd><dt>Fix</dt><dd>${markup(error.fix)}</dd></dl>
</section>`
}
