import { ValidationFailed } from '../../../../core/errors.ts'
import type { Slices } from '../../../../core/slices.ts'
import { validator } from '../../../../core/validate.ts'
import type { NamedAccount } from '../../../social/accounts/index.ts'
import { columnOfPath } from '../csv/columns.ts'
import { importSheet, type CellError } from '../csv/import.ts'
import type { SheetPost } from '../csv/sheet-post.ts'
import type { DateOrder } from '../csv/times.ts'
import { BulkPost, type BulkPostInput } from './schemas.ts'

/** What is wrong with a row, as the API shows it. */
export interface RowFault {
  readonly code: string
  readonly message: string
  readonly path: string | null
  readonly column: string | null
}

/** A row of a bulk request. */
export interface WantedRow {
  readonly row: number
  /** Undefined if the row cannot be read. */
  readonly input: BulkPostInput | undefined
  readonly errors: readonly RowFault[]
  /** The column of a field, for errors. Null for JSON. */
  readonly columnOf: (path: string) => string | null
}

const validate = validator(BulkPost, '')

/**
 * Reads a CSV file of posts.
 * @throws AppError validation_failed if the file as a whole cannot be used
 */
export async function readSheet(
  bytes: Uint8Array,
  { accounts, dateOrder, path }: { accounts: readonly NamedAccount[]; dateOrder?: DateOrder; path: string },
  slices: Slices,
): Promise<{ rows: readonly WantedRow[]; warnings: readonly string[] }> {
  const sheet = await importSheet(bytes, { account: finder(accounts), ...(dateOrder && { dateOrder }) }, slices)
  if (!sheet.ok) throw ValidationFailed({ errors: sheet.errors.map(({ code, message }) => ({ path, code, message })) })
  const rows = await inSlices(sheet.rows, slices, ({ errors, post, row }): WantedRow => {
    const columnOf = (at: string) => columnOfPath(at, post)
    if (errors.length > 0) return { row, input: undefined, errors: errors.map((error) => faultOf(error)), columnOf }
    return wantedRow(row, inputOf(post), columnOf)
  })
  return { rows, warnings: sheet.warnings }
}

/** Reads the posts of JSON. */
export async function readPosts(posts: readonly unknown[], slices: Slices) {
  return { rows: await inSlices(posts, slices, (post, index) => wantedRow(index + 1, post, () => null)), warnings: [] }
}

async function inSlices<T, R>(
  items: readonly T[],
  slices: Slices,
  map: (item: T, index: number) => R,
): Promise<readonly R[]> {
  const results: R[] = []
  for (const [index, item] of items.entries()) {
    results.push(map(item, index))
    await slices.pause()
  }
  return results
}

/** A row that is checked against the schema of createPost. @param input as it was sent */
function wantedRow(row: number, input: unknown, columnOf: WantedRow['columnOf']): WantedRow {
  const checked = validate(input)
  if (checked.ok) return { row, input: checked.value as BulkPostInput, errors: [], columnOf }
  const errors = checked.errors.map(({ code, message, path }) => ({ code, message, path, column: columnOf(path) }))
  return { row, input: undefined, errors, columnOf }
}

function inputOf({ queue, ...post }: SheetPost): object {
  return { ...post, ...(queue !== undefined && { queue: queue.label === undefined ? true : queue }) }
}

function faultOf({ code, column, message }: CellError): RowFault {
  return { code, message, path: null, column }
}

/** Finds accounts by id, by handle, or by platform and handle. */
function finder(accounts: readonly NamedAccount[]) {
  const byName = new Map<string, NamedAccount[]>()
  for (const account of accounts) {
    for (const name of namesOf(account)) byName.set(name, [...(byName.get(name) ?? []), account])
  }
  return (reference: string) => {
    const key = reference.trim().toLowerCase()
    const found = byName.get(key) ?? byName.get(key.replace(/(^|:)@/, '$1')) ?? []
    const [account, another] = found
    if (account === undefined) return { problem: `There is no account "${reference.slice(0, 64)}" in the workspace.` }
    if (another !== undefined) {
      return { problem: `Several accounts are named "${reference.slice(0, 64)}". Write platform:handle, or the id.` }
    }
    return { accountId: account.id }
  }
}

function namesOf({ handle, id, name, platform }: NamedAccount): string[] {
  const names = new Set([name, ...(handle === null ? [] : [handle.replace(/^@/, ''), handle])])
  return [id, ...[...names].flatMap((one) => [one.toLowerCase(), `${platform}:${one.toLowerCase()}`])]
}
