import { generateKeyBetween } from 'fractional-indexing'
import { ValidationFailed } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { NeighborMoved } from './errors.ts'

/**
 * Keys of a manual order. Between two keys there is always another one, so a move writes one row and no others. They are
 * compared by bytes, which is `collate "C"` in PostgreSQL and `<` in JavaScript.
 */

/** Where something is to be placed, by the ids of its neighbors. Without neighbors, at the end. */
export interface Place {
  readonly before?: string | undefined
  readonly after?: string | undefined
}

/** A list in manual order: ideas of one column, or boards of a workspace. */
interface RankedList {
  /** `from` and `where` of its rows. */
  readonly from: string
  readonly values: readonly string[]
}

export function ideasIn(boardId: string, columnId: string): RankedList {
  return { from: 'from ideas where board_id = $1 and column_id = $2', values: [boardId, columnId] }
}

export function boardsIn(workspaceId: string): RankedList {
  return { from: 'from idea_boards where workspace_id = $1', values: [workspaceId] }
}

/**
 * The key for a row that is placed beside others. If both neighbors are named and no longer adjacent, it is placed after
 * `after`.
 * @param movedId the row itself, which is not its own neighbor
 * @throws AppError validation_failed if it is its own neighbor; idea_neighbor_moved if no named neighbor is in the list
 */
export async function rankAt(sql: Sql, list: RankedList, movedId: string, { after, before }: Place): Promise<string> {
  for (const [field, id] of Object.entries({ after, before })) {
    const message = 'must be the id of a neighbor, not of the item that is moved'
    if (id === movedId) throw ValidationFailed({ errors: [{ path: `/body/${field}`, code: 'self', message }] })
  }
  const previous = after === undefined ? undefined : await rankOf(sql, list, after)
  if (previous !== undefined) return generateKeyBetween(previous, await beside(sql, list, movedId, '>', previous))
  const next = before === undefined ? undefined : await rankOf(sql, list, before)
  if (next !== undefined) return generateKeyBetween(await beside(sql, list, movedId, '<', next), next)
  if (after !== undefined || before !== undefined) throw NeighborMoved()
  return generateKeyBetween(await beside(sql, list, movedId, '<', undefined), null)
}

async function rankOf(sql: Sql, { from, values }: RankedList, id: string): Promise<string | undefined> {
  const text = `select rank ${from} and id = $${values.length + 1}`
  return (await sql.row<{ rank: string }>(text, [...values, id]))?.rank
}

/** The nearest key after (`>`) or before (`<`) a key; the last of all without one. */
async function beside(
  sql: Sql,
  { from, values }: RankedList,
  movedId: string,
  side: '<' | '>',
  rank: string | undefined,
): Promise<string | null> {
  const next = values.length + 1
  const bound = rank === undefined ? '' : ` and rank collate "C" ${side} $${next + 1}`
  const direction = side === '>' ? 'asc' : 'desc'
  const text = `select rank ${from} and id <> $${next}${bound} order by rank collate "C" ${direction} limit 1`
  const found = await sql.row<{ rank: string }>(text, [...values, movedId, ...(rank === undefined ? [] : [rank])])
  return found?.rank ?? null
}
