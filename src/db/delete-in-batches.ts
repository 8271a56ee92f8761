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

/**
 * Deletes rows of several owners with each statement, about a thousand rows in all, until none is left or the signal is
 * aborted. When few owners have rows left, the statements delete more of each.
 * @param some deletes at most this many rows of each owner, and returns how many rows it deleted
 * @returns how many
 */
export async function inSharedBatches(
  owners: number,
  some: (rowsOfEach: number) => Promise<number>,
  signal: AbortSignal,
): Promise<number> {
  let total = 0
  for (let rows = Math.ceil(BATCH / Math.max(1, owners)); !signal.aborted;) {
    const count = await some(rows)
    if (count === 0) break
    total += count
    // Owners with more rows than that deleted `rows` each, so the next statement deletes no more than a batch of theirs.
    rows = Math.min(BATCH, Math.ceil((rows * BATCH) / count))
  }
  return total
}
