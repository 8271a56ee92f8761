import leven from 'leven'
import { Slices } from '../../../../core/slices.ts'
import { MAX_CELL, readList, readObject, unescapeCell } from './cells.ts'
import { ACCOUNTS, COLUMN_NAMES, COLUMN_OF, OVERRIDE, columnKey, type Column } from './columns.ts'
import { decodeSheet } from './decode.ts'
import { MAX_COLUMNS, readRecords, type Separator } from './records.ts'
import type { SheetPost, SheetTarget } from './sheet-post.ts'
import type { DateOrder } from './times.ts'

/** The maximum number of posts in a file. */
export const MAX_ROWS = 500
/** The maximum number of accounts of a row. */
const MAX_ACCOUNTS = 100

/** The maximum number of errors of one row, and of the header. */
const MAX_ERRORS = 20
const MAX_SHOWN = 64

/** What is wrong with a cell, or with a row if `column` is null. */
export interface CellError {
  readonly column: string | null
  readonly code: string
  readonly message: string
}

/** The verdict on one row. */
export interface SheetRow {
  /** The number of the row as a program for sheets shows it: the header is row 1. */
  readonly row: number
  /** What was read. With errors, only what is valid. */
  readonly post: SheetPost
  readonly errors: readonly CellError[]
}

export type Sheet =
  | { readonly ok: true; readonly rows: readonly SheetRow[]; readonly warnings: readonly string[] }
  /** The file as a whole cannot be used. */
  | { readonly ok: false; readonly errors: readonly CellError[] }

export interface ImportOptions {
  /**
   * Finds an account by what the sheet calls it: an id, or platform and handle.
   * @returns its id, or why there is none
   */
  readonly account: (reference: string) => { readonly accountId: string } | { readonly problem: string }
  /** The order of day and month in dates with slashes. Without it, ambiguous dates are refused. */
  readonly dateOrder?: DateOrder | undefined
}

/** Reads a CSV file of posts in slices. `columns.ts` describes the columns. */
export async function importSheet(bytes: Uint8Array, options: ImportOptions, slices = new Slices()): Promise<Sheet> {
  const decoded = decodeSheet(bytes)
  if ('problem' in decoded) return failed('unreadable_file', decoded.problem)
  const { body, separator } = separatorOf(decoded.text)
  const records = await readRecords(body, separator, slices)
  if ('problem' in records) return failed(records.code, records.problem)
  const [names = [], ...rest] = records.records
  const header = readHeader(names, options)
  if (!header.ok) return header
  const filled = rest.map((cells, index) => ({ cells, row: index + 2 })).filter(({ cells }) => cells.some(isFilled))
  if (filled.length === 0) return failed('no_rows', 'The file has no posts. The first row names the columns.')
  if (filled.length > MAX_ROWS) return failed('too_many_rows', `A file can have at most ${MAX_ROWS} posts. Split it.`)
  const rows: SheetRow[] = []
  for (const { cells, row } of filled) {
    rows.push(readRow(row, cells, header.fields, options))
    await slices.pause()
  }
  return { ok: true, rows, warnings: decoded.warning === null ? [] : [decoded.warning] }
}

function isFilled(cell: string): boolean {
  return cell.trim() !== ''
}

function failed(code: string, message: string): { ok: false; errors: CellError[] } {
  return { ok: false, errors: [{ column: null, code, message }] }
}

const SEPARATORS: readonly Separator[] = [',', ';', '\t']

/** The separator that gives the most known columns, or the one of Excel's first line `sep=;`. */
function separatorOf(text: string): { body: string; separator: Separator } {
  const given = /^"?sep=(,|;|\t)"?\r?\n/i.exec(text)
  const separator = SEPARATORS.find((one) => one === given?.[1])
  if (given && separator !== undefined) return { body: text.slice(given[0].length), separator }
  const head = /^[^\r\n]*/.exec(text)?.[0] ?? ''
  // One column more than there can be shows that there are too many.
  const names = (one: Separator) => head.split(one, MAX_COLUMNS + 1)
  const known = (one: Separator) =>
    names(one).filter((name) => COLUMN_OF.has(columnKey(name.slice(0, MAX_SHOWN).replaceAll('"', '')))).length
  const parts = (one: Separator) => names(one).length
  const [best = ','] = SEPARATORS.toSorted((a, b) => known(b) - known(a) || parts(b) - parts(a))
  return { body: text, separator: best }
}

/** What a column is for. */
type Field =
  | { readonly kind: 'column'; readonly column: Column }
  | { readonly kind: 'accounts' }
  | { readonly kind: 'override'; readonly name: string; readonly accountId: string }
  | { readonly kind: 'empty' }

type Header =
  | { readonly ok: true; readonly fields: readonly Field[] }
  | { readonly ok: false; readonly errors: CellError[] }

function readHeader(names: readonly string[], options: ImportOptions): Header {
  const errors: CellError[] = []
  const seen = new Set<string>()
  const fields: Field[] = []
  for (const name of names) {
    if (errors.length >= MAX_ERRORS) break
    const field = fieldOf(name.trim(), options)
    const column = name.trim().slice(0, MAX_SHOWN)
    if ('problem' in field) {
      errors.push({ column, code: field.code, message: field.problem })
      continue
    }
    const key = field.kind === 'column' ? field.column.name : field.kind === 'override' ? field.accountId : field.kind
    if (field.kind !== 'empty' && seen.has(key)) {
      errors.push({ column, code: 'duplicate_column', message: `Another column is for ${key} as well.` })
    }
    seen.add(key)
    fields.push(field)
  }
  return errors.length === 0 ? { ok: true, fields } : { ok: false, errors }
}

function fieldOf(name: string, options: ImportOptions): Field | { readonly code: string; readonly problem: string } {
  if (name === '') return { kind: 'empty' }
  if (name.toLowerCase().startsWith(OVERRIDE)) {
    const found = options.account(name.slice(OVERRIDE.length).trim())
    if ('problem' in found) return { code: 'unknown_account', problem: found.problem }
    return { kind: 'override', name, accountId: found.accountId }
  }
  const column = COLUMN_OF.get(columnKey(name))
  if (column === undefined) return { code: 'unknown_column', problem: unknownColumn(name) }
  return column === ACCOUNTS ? { kind: 'accounts' } : { kind: 'column', column }
}

function unknownColumn(name: string): string {
  const key = columnKey(name.slice(0, MAX_SHOWN))
  const far = (other: string) => leven(key, columnKey(other))
  const [near = ''] = COLUMN_NAMES.toSorted((a, b) => far(a) - far(b))
  const hint = far(near) <= 2 ? ` Did you mean ${near}?` : ''
  return `"${name.slice(0, MAX_SHOWN)}" is not a column.${hint} The columns are ${COLUMN_NAMES.join(', ')}.`
}

function readRow(row: number, cells: readonly string[], fields: readonly Field[], options: ImportOptions): SheetRow {
  const errors: CellError[] = []
  const values: Record<string, unknown> = {}
  const overrides = new Map<string, Record<string, unknown>>()
  let accountIds: string[] = []
  const report = (column: string | null, code: string, message: string) => {
    if (errors.length < MAX_ERRORS) errors.push({ column, code, message })
  }
  for (const [index, raw] of cells.entries()) {
    const field = fields[index] ?? { kind: 'empty' }
    if (!isFilled(raw)) {
      // Otherwise the export would be imported as other posts by a user whose settings have a first comment.
      if (field.kind === 'column' && field.column.name === 'firstComment') values['firstComment'] = null
      continue
    }
    if (errors.length >= MAX_ERRORS) break
    const column = columnName(field)
    if (raw.length > MAX_CELL) {
      report(column, 'cell_too_long', `The cell has more than ${MAX_CELL} characters.`)
    } else if (field.kind === 'empty') {
      report(null, 'extra_cell', `The row has "${raw.slice(0, 32)}" in column ${index + 1}, which has no name.`)
    } else if (field.kind === 'accounts') {
      const found = readAccounts(unescapeCell(raw), options)
      accountIds = found.accountIds
      for (const problem of found.problems) report(column, 'unknown_account', problem)
    } else {
      const cell =
        field.kind === 'override'
          ? readObject(unescapeCell(raw))
          : field.column.read(unescapeCell(raw), options.dateOrder)
      if ('problem' in cell) report(column, 'invalid_cell', `${column} ${cell.problem}`)
      else if (field.kind === 'override') overrides.set(field.accountId, cell.value as Record<string, unknown>)
      else values[field.column.name] = cell.value
    }
  }
  for (const field of fields) {
    if (field.kind !== 'override' || !overrides.has(field.accountId) || accountIds.includes(field.accountId)) continue
    report(
      field.name,
      'account_not_in_row',
      `The row has an override for this account, but ${ACCOUNTS} does not list it.`,
    )
  }
  const targets = accountIds.map((accountId): SheetTarget => {
    const override = overrides.get(accountId)
    return override === undefined ? { accountId } : { accountId, override }
  })
  return { row, post: { ...values, ...(targets.length > 0 && { targets }) }, errors }
}

function columnName(field: Field): string | null {
  if (field.kind === 'column') return field.column.name
  if (field.kind === 'override') return field.name
  return field.kind === 'accounts' ? ACCOUNTS : null
}

function readAccounts(cell: string, options: ImportOptions): { accountIds: string[]; problems: string[] } {
  const list = readList(cell)
  if ('problem' in list) return { accountIds: [], problems: [list.problem] }
  if (list.value.length > MAX_ACCOUNTS) {
    return { accountIds: [], problems: [`The cell lists more than ${MAX_ACCOUNTS} accounts.`] }
  }
  const found = list.value.map((reference) => options.account(reference))
  const accountIds = found.flatMap((one) => ('accountId' in one ? [one.accountId] : []))
  const problems = found.flatMap((one) => ('problem' in one ? [one.problem] : []))
  const twice = accountIds.find((id, index) => accountIds.indexOf(id) !== index)
  if (twice !== undefined) problems.push(`The account ${twice} is listed twice.`)
  return { accountIds: [...new Set(accountIds)], problems }
}
