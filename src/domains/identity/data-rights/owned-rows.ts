import type { ExportedRows, PersonalColumn } from '../../../core/personal-data.ts'
import type { Sql, SqlValue } from '../../../core/sql.ts'

/** Rows that are in memory at once. */
export const BATCH = 500

/** The columns that identify a row among those of one person. */
export const keyOf = ({ key = ['id'] }: ExportedRows): readonly string[] => key

/**
 * The rows of a person in a table as JSON texts, read in batches. Each batch continues after the key of the last row,
 * so with an index on the person and the key it costs the same wherever it begins. `src/registry/personal.test.ts`
 * requires these indexes.
 * @param name the column that names the person, as `table.column`
 */
export async function* rowsOf(
  sql: Sql,
  name: string,
  { export: rows, through }: PersonalColumn & { readonly export: ExportedRows },
  userId: string,
): AsyncGenerator<string> {
  const [table = '', column = ''] = name.split('.')
  const key = keyOf(rows).map((part) => `t.${part}`)
  // Written by hand: the table and its key are values here, so no statement can be typed.
  const page = (after: string) =>
    `select (to_jsonb(t) - $2::text[])::text as row, array[${key.map((part) => `${part}::text`).join(', ')}] as key
     from ${table} t where ${ownedBy(column, through)}${after} order by ${key.join(', ')} limit ${BATCH}`
  const first = page('')
  const next = page(` and (${key.join(', ')}) > (${key.map((_, index) => `$${index + 3}`).join(', ')})`)
  const given: readonly SqlValue[] = [userId, rows.omit ?? []]
  for (let last: readonly string[] | undefined; ;) {
    const found: { row: string; key: string[] }[] =
      last === undefined ? await sql.rows(first, given) : await sql.rows(next, [...given, ...last])
    for (const { row } of found) yield row
    last = found.at(-1)?.key
    if (found.length < BATCH || last === undefined) return
  }
}

/** Whether a row belongs to the person `$1`. */
export function ownedBy(column: string, through: string | undefined): string {
  if (through === undefined) return `t.${column} = $1`
  const [table = '', owner = ''] = through.split('.')
  return `t.${column} in (select o.id from ${table} o where o.${owner} = $1)`
}
