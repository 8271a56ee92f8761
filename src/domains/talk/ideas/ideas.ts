import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { not } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { unlinkIdeas } from '../../publishing/posts/index.ts'
import { findBoard, nextChange } from './boards.ts'
import { ColumnFull, IdeaMerged } from './errors.ts'
import { ideaCreated, ideaDeleted, ideaMoved, ideaUpdated } from './events.ts'
import { matchText } from './match-text.ts'
import { ideasIn, rankAt } from './order.ts'
import { MAX_IDEAS, type IdeaChangeData, type IdeaMoveData, type NewIdeaData, type OwnIdeaData } from './schemas.ts'
import { ideas, type BoardRow, type IdeaRow } from './tables.ts'
import { filesOf, ideaView, ownViews } from './views.ts'

/** Writes ideas, in turns. */
export class IdeaService {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** @throws AppError not_found */
  async get(id: string, userId: string): Promise<OwnIdeaData> {
    return ownView(this.#sql, await findIdea(this.#sql, id), userId)
  }

  /**
   * Adds an idea to a column, at its end or beside others.
   * @throws AppError validation_failed, conflict for a full board, idea_column_full, idea_neighbor_moved
   */
  async create(turn: Turn, input: NewIdeaData, userId: string): Promise<OwnIdeaData> {
    const { assetIds = [], boardId, description = '', title } = input
    const board = await boardOf(turn, boardId)
    const columnId = columnOf(board, input.column)
    const count = await ideas.count(turn.sql, { boardId })
    if (count >= MAX_IDEAS) {
      throw Conflict({
        message: `A board can have at most ${MAX_IDEAS} ideas. Delete or merge some, or use another board.`,
        details: { limit: MAX_IDEAS },
      })
    }
    await requireRoom(turn.sql, board, columnId)
    await requireFiles(turn, assetIds, [])
    const now = this.#clock.now()
    const id = uuidv7(now)
    const at = new Date(now).toISOString()
    const row: IdeaRow = {
      id,
      workspaceId: turn.workspaceId,
      boardId,
      columnId,
      rank: await rankAt(turn.sql, ideasIn(boardId, columnId), id, input),
      seq: await nextChange(turn, boardId),
      title,
      description,
      matchText: matchText(title),
      status: 'open',
      statusNote: null,
      decidedBy: null,
      decidedAt: null,
      duplicateOfId: null,
      assetIds,
      postId: null,
      score: 0,
      upVotesCount: 0,
      downVotesCount: 0,
      commentsCount: 0,
      version: 1,
      createdBy: userId,
      createdAt: at,
      updatedAt: at,
    }
    await ideas.insert(turn.sql, row)
    turn.emit(ideaCreated, ideaView(row))
    turn.audit({ kind: 'idea', id })
    return ownView(turn.sql, row, userId)
  }

  /**
   * Edits an idea. A change of the status or its note names who made it.
   * @throws AppError not_found, precondition_failed, validation_failed, idea_column_full
   */
  async update(
    turn: Turn,
    id: string,
    change: IdeaChangeData,
    { ifMatch, userId }: { readonly ifMatch: IfMatch; readonly userId: string },
  ): Promise<OwnIdeaData> {
    const before = await findIdea(turn.sql, id)
    requireVersion(ifMatch, before.version)
    const { assetIds, description, statusNote = before.statusNote, status = before.status, title } = change
    const isReopened = before.status === 'duplicate' && status !== 'duplicate'
    if (status === 'duplicate' && before.status !== 'duplicate') {
      const message = 'must not be `duplicate`. Merge the idea into its original with POST /api/ideas/{id}/merge'
      throw ValidationFailed({ errors: [{ path: '/body/status', code: 'merge', message }] })
    }
    // A duplicate has left its column, so it needs room when it comes back.
    if (isReopened) await requireRoom(turn.sql, await findBoard(turn.sql, before.boardId), before.columnId)
    if (assetIds) await requireFiles(turn, assetIds, before.assetIds)
    const at = new Date(this.#clock.now())
    const isAnswered = status !== before.status || statusNote !== before.statusNote
    const row = await this.save(turn, before, {
      title,
      description,
      matchText: title === undefined ? undefined : matchText(title),
      assetIds,
      status,
      statusNote,
      ...(isReopened && { duplicateOfId: null }),
      ...(isAnswered && { decidedBy: userId, decidedAt: at }),
      version: increment(),
    })
    return ownView(turn.sql, row, userId)
  }

  /**
   * Moves an idea to a place in a column of this or another board.
   * @throws AppError not_found, validation_failed, conflict, idea_merged, idea_column_full, idea_neighbor_moved
   */
  async move(turn: Turn, id: string, input: IdeaMoveData, userId: string): Promise<OwnIdeaData> {
    const before = await findIdea(turn.sql, id)
    if (before.status === 'duplicate') throw IdeaMerged({ details: { duplicateOfId: before.duplicateOfId } })
    const board = await boardOf(turn, input.boardId)
    const columnId = columnOf(board, input.column)
    const hasLeft = board.id !== before.boardId
    if (hasLeft && (await ideas.count(turn.sql, { boardId: board.id })) >= MAX_IDEAS) {
      throw Conflict({
        message: `A board can have at most ${MAX_IDEAS} ideas. Delete or merge some, or use another board.`,
        details: { limit: MAX_IDEAS },
      })
    }
    if (hasLeft || columnId !== before.columnId) await requireRoom(turn.sql, board, columnId)
    const rank = await rankAt(turn.sql, ideasIn(board.id, columnId), id, input)
    const left = hasLeft ? await nextChange(turn, before.boardId) : null
    const seq = await nextChange(turn, board.id)
    const change = { boardId: board.id, columnId, rank, seq, updatedAt: new Date(this.#clock.now()) }
    const [row] = await ideas.updateReturning(turn.sql, { id }, change)
    if (row === undefined) throw NotFound()
    turn.emit(ideaMoved, {
      ...ideaView(row),
      from: { boardId: before.boardId, column: before.columnId, seq: left },
    })
    turn.audit({ kind: 'idea', id })
    return ownView(turn.sql, row, userId)
  }

  /** Deletes an idea with its comments and votes. A draft that was made of it stays. @throws AppError not_found */
  async delete(turn: Turn, id: string): Promise<void> {
    const { boardId, postId } = await findIdea(turn.sql, id)
    if (postId !== null) await unlinkIdeas(turn, [postId])
    await ideas.update(turn.sql, { duplicateOfId: id }, { duplicateOfId: null })
    await ideas.delete(turn.sql, { id })
    turn.emit(ideaDeleted, { ideaId: id, boardId, seq: await nextChange(turn, boardId) })
    turn.audit({ kind: 'idea', id })
  }

  /** Writes a change of an idea as the next change of its board. @returns the new row */
  async save(turn: Turn, { boardId, id }: IdeaRow, change: Parameters<typeof ideas.update>[2]): Promise<IdeaRow> {
    const seq = await nextChange(turn, boardId)
    const updatedAt = new Date(this.#clock.now())
    const [row] = await ideas.updateReturning(turn.sql, { id }, { ...change, seq, updatedAt })
    if (row === undefined) throw NotFound()
    turn.emit(ideaUpdated, ideaView(row))
    turn.audit({ kind: 'idea', id })
    return row
  }
}

/** @throws AppError not_found */
export async function findIdea(sql: Sql, id: string): Promise<IdeaRow> {
  const row = await ideas.first(sql, { id })
  if (row === undefined) throw NotFound()
  return row
}

/** An idea as a member sees it. */
export async function ownView(sql: Sql, row: IdeaRow, userId: string): Promise<OwnIdeaData> {
  const [view] = await ownViews(sql, [row], userId)
  if (view === undefined) throw NotFound()
  return view
}

/** @throws AppError validation_failed unless the board is one of the workspace */
async function boardOf({ sql, workspaceId }: Turn, boardId: string): Promise<BoardRow> {
  const board = await findBoard(sql, boardId).catch(() => undefined)
  if (board?.workspaceId === workspaceId) return board
  const message = 'must be the id of a board of the workspace'
  throw ValidationFailed({ errors: [{ path: '/body/boardId', code: 'unknown', message }] })
}

/** @throws AppError validation_failed unless the column is one of the board */
function columnOf({ columns }: BoardRow, wanted: string | undefined): string {
  const column = wanted === undefined ? columns[0] : columns.find(({ _id }) => _id === wanted)
  if (column !== undefined) return column._id
  const message = 'must be the id of a column of the board'
  throw ValidationFailed({ errors: [{ path: '/body/column', code: 'unknown', message }] })
}

/** @throws AppError idea_column_full */
async function requireRoom(sql: Sql, { columns, id: boardId }: BoardRow, columnId: string): Promise<void> {
  const limit = columns.find(({ _id }) => _id === columnId)?.limit ?? null
  if (limit === null) return
  const ideasCount = await ideas.count(sql, { boardId, columnId, status: not('duplicate' as const) })
  if (ideasCount >= limit) throw ColumnFull({ details: { columnId, limit, ideasCount } })
}

/** @throws AppError validation_failed for files that are neither assets nor attached already */
async function requireFiles(
  { sql, workspaceId }: Turn,
  assetIds: readonly string[],
  known: readonly string[],
): Promise<void> {
  const files = await filesOf(sql, workspaceId, assetIds)
  const errors = assetIds.flatMap((id, index) => {
    const message = 'must be the id of an asset of the workspace that is ready to use'
    return files.has(id) || known.includes(id) ? [] : [{ path: `/body/assetIds/${index}`, code: 'unknown', message }]
  })
  if (errors.length > 0) throw ValidationFailed({ errors })
}
