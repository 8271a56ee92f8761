import { type StateTable, type TSchema } from '../core/schema.ts'
import { escapeHtml } from '../tools/html.ts'
import { markup, table, type DocPage } from '../http/doc-page.ts'

/** The page that lists the states, reasons and codes of replies and events, each value with its meaning. */
export function statesPage(schemas: readonly TSchema[]): DocPage {
  const tables = stateTables(schemas)
  const sections = tables.map(
    ({ description, title, 'x-enumDescriptions': meanings }) => `<section id="${escapeHtml(title)}">
<h2><a href="#${escapeHtml(title)}"><code>${escapeHtml(title)}</code></a></h2>
<p>${markup(description)}.</p>
${table(
  ['value', 'meaning'],
  Object.entries(meanings).map(([value, meaning]) => [`\`${value}\``, `${meaning}.`]),
)}
</section>`,
  )
  return {
    title: 'States',
    body: `<p>The values of fields such as <code>status</code> and <code>reason</code>. New versions may add values. Handle unknown values as “other”.</p>\n${sections.join('\n')}`,
  }
}

/** All states tables in the schemas, each once, by name. */
export function stateTables(schemas: readonly TSchema[]): StateTable[] {
  const found = new Map<string, StateTable>()
  const visit = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return
    const known = value as Partial<StateTable>
    // A parameter may describe how it uses the values, so the schema of the field takes precedence.
    if (known['x-enumDescriptions'] && known.title && !found.has(known.title))
      found.set(known.title, known as StateTable)
    for (const part of Object.values(value)) visit(part)
  }
  for (const schema of schemas) visit(schema)
  return [...found.values()].sort((a, b) => (a.title < b.title ? -1 : 1))
}
