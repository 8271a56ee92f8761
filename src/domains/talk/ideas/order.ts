import { generateKeyBetween } from 'fractional-indexing'
import { expressionBuilder, sql as raw } from 'kysely'
import { ValidationFailed } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import { NeighborMoved } from './errors.ts'
import { ideaBoards, ideas } from './tables.ts'

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
  find(sql: Sql, id: string): Promise<Ranked | undefined>
  nearest(sql: Sql, to: Position): Promise<Ranked | undefined>
}

interface Ranked {
  readonly rank: string
}

/** The nearest row after or before a key; the last of all without one. The row that is moved does not count. */
interface Position {
  readonly movedId: string
  readonly after?: string
  readonly before?: string
}

const e = expressionBuilder<{ r: { id: string; rank: string } }, 'r'>()
const rank = raw<string>`${e.ref('r.rank')} collate "C"`

const isBeyond = ({ after, before, movedId }: Position) =>
  e.and([
    e('r.id', '<>', movedId),
    ...(after === undefined ? [] : [e(rank, '>', after)]),
    ...(before === undefined ? [] : [e(rank, '<', before)]),
  ])

const nearestIdea = query({ ideas }, (db, $: Position & { boardId: string; columnId: string }) =>
  db
    .selectFrom('ideas as r')
    .select('r.rank')
    .where('r.boardId', '=', $.boardId)
    .where('r.columnId', '=', $.columnId)
    .where(isBeyond($))
    .orderBy(rank, $.after === undefined ? 'desc' : 'asc')
    .limit(e.lit(1)),
)

const nearestBoard = query({ ideaBoards }, (db, $: Position & { workspaceId: string }) =>
  db
    .selectFrom('ideaBoards as r')
    .select('r.rank')
    .where('r.workspaceId', '=', $.workspaceId)
    .where(isBeyond($))
    .orderBy(rank, $.after === undefined ? 'desc' : 'asc')
    .limit(e.lit(1)),
)

export function ideasIn(boardId: string, columnId: string): RankedList {
  return {
    find: (sql, id) => ideas.first(sql, { boardId, columnId, id }, { columns: ['rank'] }),
    nearest: (sql, to) => nearestIdea.row(sql, { boardId, columnId, ...to }),
  }
}

export function boardsIn(workspaceId: string): RankedList {
  return {
    find: (sql, id) => ideaBoards.first(sql, { workspaceId, id }, { columns: ['rank'] }),
    nearest: (sql, to) => nearestBoard.row(sql, { workspaceId, ...to }),
  }
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
  const beside = async (side: Omit<Position, 'movedId'>) =>
    (await list.nearest(sql, { movedId, ...side }))?.rank ?? null
  const previous = after === undefined ? undefined : await list.find(sql, after)
  if (previous !== undefined) return generateKeyBetween(previous.rank, await beside({ after: previous.rank }))
  const next = before === undefined ? undefined : await list.find(sql, before)
  if (next !== undefined) return generateKeyBetween(await beside({ before: next.rank }), next.rank)
  if (after !== undefined || before !== undefined) throw NeighborMoved()
  return generateKeyBetween(await beside({}), null)
}
