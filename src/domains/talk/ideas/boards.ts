import { sql as raw } from 'kysely'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { unlinkIdeas } from '../../publishing/posts/index.ts'
import { readSortedCursor, writeSortedCursor } from '../../../core/sorted-cursor.ts'
import { cutRank, isRank } from './cursor.ts'
import { ColumnNotEmpty } from './errors.ts'
import { ideaBoardCreated, ideaBoardDeleted, ideaBoardUpdated } from './events.ts'
import { boardsIn, rankAt } from './order.ts'
import { MAX_BOARDS, type BoardChangeData, type BoardData, type NewBoardData } from './schemas.ts'
import { ideaBoards, ideas, type BoardColumn, type BoardRow } from './tables.ts'

const DEFAULT_COLUMNS = [{ name: 'Ideas' }, { name: 'In progress' }, { name: 'Done' }]

interface Wanted {
  readonly workspaceId: string
  readonly afterId?: string | undefined
  /**
   * The rank of the last board, truncated if it is long. The full rank is read from its row, if the row still exists.
   */
  readonly afterRank?: string | undefined
  readonly limit: number
}

const listed = query({ ideaBoards }, (db, $: Wanted) => {
  const found = db
    .selectFrom('ideaBoards')
    .select(ideaBoards.properties)
    .where('workspaceId', '=', $.workspaceId)
    .orderBy(raw`rank collate "C"`)
    .orderBy('id')
    .limit($.limit)
  if ($.afterId === undefined) return found
  const whole = db
    .selectFrom('ideaBoards as b')
    .select('b.rank')
    .where('b.id', '=', $.afterId)
    .where('b.workspaceId', '=', $.workspaceId)
    .where((e) => e.fn<boolean>('starts_with', ['b.rank', raw`${$.afterRank}`]))
  return found.where(raw<boolean>`(rank collate "C", id) > (coalesce(${whole}, ${$.afterRank}), ${$.afterId}::uuid)`)
})

/** Ideas of other boards that were merged into ideas of this one have no original any more. */
const forgetOriginals = query({ ideas }, (db, $: { boardId: string }) =>
  db
    .updateTable('ideas')
    .set({ duplicateOfId: null })
    .where('duplicateOfId', 'in', (e) => e.selectFrom('ideas').select('id').where('boardId', '=', $.boardId))
    .where('boardId', '<>', $.boardId),
)

const otherColumns = query({ ideas }, (db, $: { boardId: string; columnIds: readonly string[] }) =>
  db
    .selectFrom('ideas')
    .select('columnId')
    .distinct()
    .where('boardId', '=', $.boardId)
    .where('columnId', '<>', raw<string>`all(${$.columnIds})`),
)

const countsByBoard = query({ ideas }, (db, $: { boardIds: readonly string[] }) =>
  db
    .selectFrom('ideas')
    .select((e) => ['boardId', e.fn.countAll<number>().as('count')])
    .where('boardId', '=', raw<string>`any(${$.boardIds})`)
    .where('status', '<>', 'duplicate')
    .groupBy('boardId'),
)

/** The idea boards of a workspace. */
export class IdeaBoards {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** A page of the boards in their order. @throws AppError validation_failed for a cursor of another list */
  async list(
    workspaceId: string,
    { cursor, limit = 30 }: { readonly cursor?: string; readonly limit?: number },
  ): Promise<PageResult<BoardData>> {
    const after = readSortedCursor(cursor, 'b', isRank)
    const wanted = { workspaceId, afterId: after?.id, afterRank: after?.key, limit: limit + 1 }
    const rows = await listed.rows(this.#sql, wanted)
    const shown = rows.slice(0, limit)
    const counts = await countIdeas(
      this.#sql,
      shown.map(({ id }) => id),
    )
    const last = rows.length > limit ? shown.at(-1) : undefined
    return {
      items: shown.map((row) => boardView(row, counts.get(row.id) ?? 0)),
      limit,
      nextCursor: last ? writeSortedCursor('b', { key: cutRank(last.rank), id: last.id }) : null,
    }
  }

  /** @throws AppError not_found */
  async get(id: string): Promise<BoardData> {
    return this.#view(this.#sql, await findBoard(this.#sql, id))
  }

  /** @throws AppError conflict when the workspace has as many boards as it can have */
  async create(turn: Turn, { columns, description = '', name }: NewBoardData, userId: string): Promise<BoardData> {
    const { workspaceId } = turn
    if ((await ideaBoards.count(turn.sql, { workspaceId })) >= MAX_BOARDS) {
      throw Conflict({
        message: `A workspace can have at most ${MAX_BOARDS} idea boards. Delete one first.`,
        details: { limit: MAX_BOARDS },
      })
    }
    const now = this.#clock.now()
    const id = uuidv7(now)
    const at = new Date(now).toISOString()
    const row: BoardRow = {
      id,
      workspaceId,
      name,
      description,
      columns: (columns ?? DEFAULT_COLUMNS).map((column) => newColumn(column, now)),
      rank: await rankAt(turn.sql, boardsIn(workspaceId), id, {}),
      seq: 1,
      version: 1,
      createdBy: userId,
      createdAt: at,
      updatedAt: at,
    }
    turn.insert(ideaBoards, row)
    const view = boardView(row, 0)
    turn.emit(ideaBoardCreated, view)
    turn.audit({ kind: 'idea_board', id })
    return view
  }

  /**
   * Changes the name, the columns or the place of a board.
   * @throws AppError not_found, precondition_failed, validation_failed, idea_column_not_empty, idea_neighbor_moved
   */
  async update(turn: Turn, id: string, change: BoardChangeData, ifMatch: IfMatch): Promise<BoardData> {
    const before = await findBoard(turn.sql, id)
    requireVersion(ifMatch, before.version)
    const columns = change.columns && (await this.#columns(turn, before, change.columns))
    const isMoved = change.before !== undefined || change.after !== undefined
    const rank = isMoved ? await rankAt(turn.sql, boardsIn(turn.workspaceId), id, change) : undefined
    const [row] = await ideaBoards.updateReturning(
      turn.sql,
      { id },
      {
        name: change.name,
        description: change.description,
        columns,
        rank,
        seq: increment(),
        version: increment(),
        updatedAt: new Date(this.#clock.now()),
      },
    )
    if (row === undefined) throw NotFound()
    const view = await this.#view(turn.sql, row)
    turn.emit(ideaBoardUpdated, view)
    turn.audit({ kind: 'idea_board', id })
    return view
  }

  /** Deletes a board with its ideas. Drafts that were made of them stay. @throws AppError not_found */
  async delete(turn: Turn, id: string): Promise<void> {
    const board = await findBoard(turn.sql, id)
    const converted = await ideas.find(turn.sql, { boardId: board.id }, { columns: ['postId'] })
    await unlinkIdeas(
      turn,
      converted.flatMap(({ postId }) => postId ?? []),
    )
    await forgetOriginals.run(turn.sql, { boardId: id })
    await ideaBoards.delete(turn.sql, { id })
    turn.emit(ideaBoardDeleted, { ideaBoardId: id })
    turn.audit({ kind: 'idea_board', id })
  }

  async #view(sql: Sql, row: BoardRow): Promise<BoardData> {
    return boardView(row, (await countIdeas(sql, [row.id])).get(row.id) ?? 0)
  }

  async #columns(
    turn: Turn,
    board: BoardRow,
    wanted: NonNullable<BoardChangeData['columns']>,
  ): Promise<readonly BoardColumn[]> {
    const known = new Set(board.columns.map(({ _id }) => _id))
    const seen = new Set<string>()
    const errors = wanted.flatMap(({ _id }, index) => {
      if (_id === undefined) return []
      const message = known.has(_id)
        ? 'must not be listed twice'
        : 'must be the id of a column of the board. Leave it out for a new column'
      const isWrong = !known.has(_id) || seen.has(_id)
      seen.add(_id)
      return isWrong ? [{ path: `/body/columns/${index}/_id`, code: 'unknown', message }] : []
    })
    if (errors.length > 0) throw ValidationFailed({ errors })
    const used = await otherColumns.rows(turn.sql, { boardId: board.id, columnIds: [...seen] })
    if (used.length > 0) throw ColumnNotEmpty({ details: { columnIds: used.map(({ columnId }) => columnId) } })
    return wanted.map((column) => newColumn(column, this.#clock.now()))
  }
}

/** @throws AppError not_found */
export async function findBoard(sql: Sql, id: string): Promise<BoardRow> {
  const row = await ideaBoards.first(sql, { id })
  if (row === undefined) throw NotFound()
  return row
}

/**
 * Gives a change of a board's ideas its number.
 * @throws AppError not_found
 */
export async function nextChange(turn: Turn, boardId: string): Promise<number> {
  const [row] = await ideaBoards.updateReturning(turn.sql, { id: boardId }, { seq: increment() })
  if (row === undefined) throw NotFound()
  return row.seq
}

async function countIdeas(sql: Sql, boardIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (boardIds.length === 0) return new Map()
  const counted = await countsByBoard.rows(sql, { boardIds })
  return new Map(counted.map(({ boardId, count }) => [boardId, count]))
}

function newColumn(
  { _id, limit, name }: { _id?: string; name: string; limit?: number | null },
  at: number,
): BoardColumn {
  return { _id: _id ?? uuidv7(at), name, limit: limit ?? null }
}

function boardView(row: BoardRow, ideasCount: number): BoardData {
  const { createdAt, createdBy, description, id, name, seq, updatedAt, version, workspaceId } = row
  const columns = row.columns.map(({ _id, limit, name: title }) => ({ _id, name: title, limit }))
  const base = { _id: id, createdAt, updatedAt, workspaceId }
  return { ...base, name, description, columns, seq, ideasCount, version, createdBy }
}
