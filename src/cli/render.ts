import { UsageError } from './arguments.ts'

/** A readable form of a reply: a table for a list, names and values for a resource. */

type Row = Readonly<Record<string, unknown>>

/** @param width the number of columns of the terminal */
export function render(body: unknown, width: number): string {
  if (!isRow(body)) return body === undefined ? 'Done' : JSON.stringify(body, null, 2)
  const { data, message } = body
  const text = typeof message === 'string' ? message : ''
  if (Array.isArray(data)) {
    const { pagination } = body
    const more =
      isRow(pagination) && pagination['hasMore'] === true
        ? `More with --cursor ${String(pagination['nextCursor'])}`
        : ''
    return [data.length === 0 ? `${text}: none` : list(data, width), more].filter(Boolean).join('\n')
  }
  const rest = data ?? withoutEnvelope(body)
  return [text, isRow(rest) ? resource(rest, '') : data === undefined ? '' : cell(data)].filter(Boolean).join('\n')
}

function withoutEnvelope(body: Row): Row {
  const { message: _message, status: _status, ...rest } = body
  return rest
}

function list(items: readonly unknown[], width: number): string {
  const rows = items.filter(isRow)
  if (rows.length < items.length)
    return items.map((item) => (isRow(item) ? JSON.stringify(item) : String(item))).join('\n')
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
    .filter((name) => rows.every((row) => !isNested(row[name])))
    .sort((a, b) => rank(a) - rank(b))
  const columns: { name: string; cells: string[]; width: number }[] = []
  let used = 0
  for (const name of names) {
    const cells = rows.map((row) => cell(row[name]))
    const wide = Math.min(40, Math.max(name.length, ...cells.map((text) => text.length)))
    // Columns that do not fit are omitted. --json shows everything.
    if (columns.length > 1 && used + wide > width) continue
    columns.push({ name, cells, width: wide })
    used += wide + 2
  }
  const line = (pick: (column: (typeof columns)[number]) => string) =>
    columns
      .map((column) => fit(pick(column), column))
      .join('  ')
      .trimEnd()
  return [
    line((column) => column.name),
    ...rows.map((_row, index) => line((column) => column.cells[index] ?? '')),
  ].join('\n')
}

/** Columns that name a row come first, then its id and type. Ids of other resources are rarely needed and come last. */
const FIRST = ['name', 'title', 'email', 'key', '_id', 'status', 'state']

function rank(column: string): number {
  const place = FIRST.indexOf(column)
  if (place >= 0) return place
  return FIRST.length + (/Ids?$/.test(column) ? 1 : 0)
}

/**
 * One field of the reply: `_id`, `user.email`, `platforms.0.name`. It is looked up in `data` first.
 * @throws UsageError when the reply has no such field
 */
export function fieldOf(body: unknown, path: string): string {
  const find = (from: unknown) =>
    path.split('.').reduce<unknown>((value, name) => (isNested(value) ? (value as Row)[name] : undefined), from)
  const value = (isRow(body) ? find(body['data']) : undefined) ?? find(body)
  if (value === undefined) throw new UsageError(`the reply has no field ${path}; --json shows all fields`)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function fit(text: string, { width }: { readonly width: number }): string {
  return (text.length > width ? `${text.slice(0, width - 1)}…` : text).padEnd(width)
}

function resource(row: Row, indent: string): string {
  const names = Object.keys(row)
  const width = Math.max(0, ...names.filter((name) => !isNested(row[name])).map((name) => name.length))
  return names.map((name) => entry(name, row[name], indent, width)).join('\n')
}

function entry(name: string, value: unknown, indent: string, width: number): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return `${indent}${name.padEnd(width)}  none`
    if (!value.some(isNested)) return `${indent}${name.padEnd(width)}  ${value.map(cell).join(', ')}`
    const items = value.map((item) =>
      isRow(item) ? resource(item, `${indent}    `).replace(/^ {2}( *) {2}/, '$1  - ') : `${indent}  - ${cell(item)}`,
    )
    return `${indent}${name}:\n${items.join('\n')}`
  }
  if (isRow(value)) return `${indent}${name}:\n${resource(value, `${indent}  `)}`
  return `${indent}${name.padEnd(width)}  ${cell(value)}`
}

/** Control characters in texts of other users must not reach the terminal. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // oxlint-disable-next-line no-control-regex -- the expression looks for control characters
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}

function isRow(value: unknown): value is Row {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function isNested(value: unknown): boolean {
  return value !== null && typeof value === 'object'
}
