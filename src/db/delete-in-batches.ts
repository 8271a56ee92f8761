import type { Sql } from '../core/sql.ts'
import type { Where } from './condition.ts'
import type { AnyEntity, Row, RowInput } from './row.ts'
import type { Table } from './table.ts'

/** Rows that one statement deletes. */
const BATCH = 1_000

/**
 * Deletes all matching rows, in statements of a thousand. One statement for all of them would take long after a
 * downtime, and hold its locks as long. Not for a transaction. Stops early when the signal is aborted.
 * @returns how many
 */
export async function deleteInBatches<E extends AnyEntity>(
  table: Table<E>,
  sql: Sql,
  where: Where<RowInput<E>>,
  signal?: AbortSignal,
): Promise<number> {
  const [column] = table.properties
  return inBatches((limit) => table.deleteSome(sql, where, limit, [column as keyof Row<E> & string]), signal)
}

/**
 * Calls until fewer rows than the limit are left, or the signal is aborted.
 * @param some deletes at most `limit` rows, and returns them
 * @returns how many
 */
export async function inBatches(
  some: (limit: number) => Promise<readonly unknown[]>,
  signal?: AbortSignal,
): Promise<number> {
  for (let total = 0; ;) {
    const { length } = await some(BATCH)
    total += length
    if (length < BATCH || signal?.aborted === true) return total
  }
}
