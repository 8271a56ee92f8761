import { sql, type Expression, type SqlBool } from 'kysely'
import { ValidationFailed } from '../../../core/errors.ts'
import { isUuid } from '../../../tools/id.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import { readSortedCursor, writeSortedCursor, type SortedCursor } from '../../../core/sorted-cursor.ts'
import { cutRank, isRank } from './cursor.ts'
import { matchText } from './match-text.ts'
import type { IdeaFilter, OwnIdeaData, SimilarFilter } from './schemas.ts'
import type { IdeaStatus } from './states.ts'
import { ideaBoards, ideas, type IdeaRow } from './tables.ts'
import { ownViews } from './views.ts'

type Sort = NonNullable<IdeaFilter['sort']>

interface Filters {
  readonly workspaceId: string
  readonly boardId?: Values<string> | undefined
  readonly columnId?: Values<string> | undefined
  readonly status?: Values<IdeaStatus> | undefined
  readonly createdBy?: Values<string> | undefined
  /** The columns of the board in their order, for the manual order. */
  readonly columnIds?: readonly string[]
  readonly afterId?: string
  readonly afterColumn?: string
  readonly afterRank?: string
  readonly afterScore?: number
  readonly limit: number
}

const COLUMNS = ideas.properties.filter((name) => name !== 'matchText') as never[]

// A cursor truncates a long rank. The full rank is read from the row, if the row still exists.
const manual = ($: Filters) => sql<SqlBool>`
  (array_position(${$.columnIds}::uuid[], column_id), rank collate "C", id) >
  (array_position(${$.columnIds}::uuid[], ${$.afterColumn}::uuid),
   coalesce((select i.rank from ideas i where i.id = ${$.afterId}::uuid and i.column_id = ${$.afterColumn}::uuid
     and starts_with(i.rank, ${$.afterRank})), ${$.afterRank}) collate "C",
   ${$.afterId}::uuid)`

const AFTER: Readonly<Record<Sort, ($: Filters) => Expression<SqlBool>>> = {
  new: ($) => sql<SqlBool>`id < ${$.afterId}::uuid`,
  votes: ($) => sql<SqlBool>`(score, id) < (${$.afterScore}::integer, ${$.afterId}::uuid)`,
  manual,
}

function listBy(sort: Sort) {
  return query({ ideas }, (db, $: Filters) => {
    let found = db.selectFrom('ideas').select(COLUMNS).where('workspaceId', '=', $.workspaceId).limit($.limit)
    if ($.boardId !== undefined) found = found.where(isOneOf('boardId', $.boardId))
    if ($.columnId !== undefined) found = found.where(isOneOf('columnId', $.columnId))
    if ($.createdBy !== undefined) found = found.where(isOneOf('createdBy', $.createdBy))
    found =
      $.status === undefined
        ? found.where('status', '<>', sql<IdeaStatus>`'duplicate'`)
        : found.where(isOneOf('status', $.status))
    if ($.afterId !== undefined) found = found.where(AFTER[sort]($))
    if (sort === 'votes') found = found.orderBy('score', 'desc')
    if (sort !== 'manual') return found.orderBy('id', 'desc')
    return found
      .orderBy(sql`array_position(${$.columnIds}::uuid[], column_id)`)
      .orderBy(sql`rank collate "C"`)
      .orderBy('id')
  })
}

const LISTS = { new: listBy('new'), votes: listBy('votes'), manual: listBy('manual') }

/** Reads ideas of a workspace. */
export class IdeaLists {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * A page of ideas. Duplicates are only in a list that asks for them.
   * @throws AppError validation_failed for a cursor of another list, and the manual order without exactly one board
   */
  async list(filter: IdeaFilter, userId: string): Promise<PageResult<OwnIdeaData>> {
    const { cursor, limit = 30, workspaceId } = filter
    const [board, ...otherBoards] = new Set(filter.boardId)
    const hasOneBoard = board !== undefined && otherBoards.length === 0
    const sort = filter.sort ?? (hasOneBoard ? 'manual' : 'new')
    if (sort === 'manual' && !hasOneBoard) {
      const message = 'must not be `manual` without one `boardId`. Send `boardId`, or another order'
      throw ValidationFailed({ errors: [{ path: '/query/sort', code: 'board', message }] })
    }
    const after = readSortedCursor(cursor, sort, IS_KEY[sort])
    const rows = (await LISTS[sort].rows(this.#sql, {
      workspaceId,
      boardId: values(filter.boardId),
      columnId: values(filter.column),
      status: values(filter.status),
      createdBy: values(filter.createdBy),
      ...(sort === 'manual' && { columnIds: await this.#columnIds(workspaceId, board) }),
      ...(after && positionOf(sort, after)),
      limit: limit + 1,
    })) as IdeaRow[]
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    return {
      items: await ownViews(this.#sql, shown, userId),
      limit,
      nextCursor: last ? writeSortedCursor(sort, { key: keyOf(sort, last), id: last.id }) : null,
    }
  }

  /** The ideas with titles like a text, the most similar first. */
  async similar({ boardId, exceptId, title, workspaceId }: SimilarFilter) {
    const wanted = matchText(title)
    if (wanted.length < 3) return []
    const found = await this.#sql.rows<Similar>(SIMILAR, [workspaceId, wanted, boardId ?? null, exceptId ?? null])
    return found.map(({ id, ...idea }) => ({ _id: id, ...idea }))
  }

  async #columnIds(workspaceId: string, id: string | undefined): Promise<readonly string[]> {
    const board = id === undefined ? undefined : await ideaBoards.first(this.#sql, { id, workspaceId })
    return board?.columns.map(({ _id }) => _id) ?? []
  }
}

interface Similar {
  readonly id: string
  readonly boardId: string
  readonly title: string
  readonly status: IdeaStatus
  readonly score: number
  readonly similarity: number
}

/**
 * The index finds the nearest titles, by the whole title and by the best part of it. The similarity also counts a title
 * that is a part of the text, unless it is so short that it is a part of many. Titles below 0.3, the usual bound, are
 * left out. Written by hand: operators and functions of trigrams, on a union of two limited reads of the index.
 */
const SIMILAR = `
  with near as (
    (select id from ideas where workspace_id = $1 order by match_text <-> $2 limit 40)
    union
    (select id from ideas where workspace_id = $1 order by $2 <<-> match_text limit 40)
  ), measured as (
    select i.id, i.board_id as "boardId", i.title, i.status, i.score,
      greatest(similarity(i.match_text, $2), word_similarity($2, i.match_text),
        case when length(i.match_text) >= 8 then word_similarity(i.match_text, $2) else 0 end) as similarity
    from near n join ideas i on i.id = n.id
    where i.status <> 'duplicate' and i.match_text <> ''
      and i.board_id = any(coalesce($3::uuid[], array[i.board_id])) and i.id <> all(coalesce($4::uuid[], '{}'))
  )
  select * from measured where similarity >= 0.3 order by similarity desc, score desc, id limit 5`

const IS_KEY: Readonly<Record<Sort, (key: string) => boolean>> = {
  new: (key) => key === '',
  votes: (key) => /^-?\d{1,9}$/.test(key),
  manual: (key) => key.charAt(36) === ':' && isUuid(key.slice(0, 36)) && isRank(key.slice(37)),
}

function keyOf(sort: Sort, { columnId, rank, score }: IdeaRow): string {
  if (sort === 'new') return ''
  return sort === 'votes' ? String(score) : `${columnId}:${cutRank(rank)}`
}

function positionOf(sort: Sort, { id, key }: SortedCursor): Partial<Filters> {
  if (sort === 'votes') return { afterId: id, afterScore: Number(key) }
  return sort === 'new' ? { afterId: id } : { afterId: id, afterColumn: key.slice(0, 36), afterRank: key.slice(37) }
}
