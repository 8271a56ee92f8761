import { sql } from 'kysely'
import { NotFound } from '../../../core/errors.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult, StoredJson } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { Searches } from '../../../db/searches.ts'
import type { PostData } from './schemas.ts'
import type { TargetStatus } from './state.ts'
import { posts } from './tables.ts'

export interface PostFilter {
  readonly workspaceId: string
  readonly status?: TargetStatus
  readonly platform?: string
  readonly accountId?: string
  /** ISO 8601. */
  readonly from?: string
  readonly to?: string
  readonly q?: string
  readonly label?: string
  readonly batchId?: string
  readonly seriesId?: string
  /** `scheduledFor`: soonest first, without posts that have no time. Newest first by default. */
  readonly sort?: 'newest' | 'scheduledFor'
}

interface ListParameters extends Omit<PostFilter, 'q' | 'sort'> {
  readonly words?: readonly string[]
  /** Present if the list is sorted by time. */
  readonly byTime?: true
  /** The last post of the page before. */
  readonly lastId?: string
  readonly lastTime?: string
  readonly limit: number
}

const terms = (column: 'labels' | 'platforms') => sql`workspace_terms(workspace_id, ${sql.ref(column)})`
const termOf = (workspaceId: string, term: string) => sql`workspace_terms(${workspaceId}::uuid, array[${term}::text])`

const findPosts = query({ posts }, (db, $: ListParameters) => {
  let found = db
    .selectFrom('posts')
    .select(['id', 'createdAt', 'scheduledAt', sql<StoredJson<PostData>>`view::text`.as('json')])
    .where('workspaceId', '=', $.workspaceId)
    .where('deletedAt', 'is', null)
    .limit($.limit)
  found =
    $.byTime === undefined
      ? found.orderBy('id', 'desc')
      : found.where('scheduledAt', 'is not', null).orderBy('scheduledAt').orderBy('id')
  if ($.status !== undefined) found = found.where('status', '=', $.status)
  if ($.platform !== undefined)
    found = found.where(sql<boolean>`${terms('platforms')} @> ${termOf($.workspaceId, $.platform)}`)
  if ($.accountId !== undefined) {
    // A calendar reads its range in order. With an index of the account, all of its posts would be read and sorted.
    const isCalendar = $.byTime !== undefined && ($.from !== undefined || $.to !== undefined)
    found = found.where(
      isCalendar
        ? sql<boolean>`${$.accountId}::uuid = any(account_ids)`
        : sql<boolean>`account_ids @> array[${$.accountId}::uuid]`,
    )
  }
  if ($.label !== undefined) found = found.where(sql<boolean>`${terms('labels')} @> ${termOf($.workspaceId, $.label)}`)
  if ($.batchId !== undefined) found = found.where('batchId', '=', $.batchId)
  if ($.seriesId !== undefined) found = found.where('seriesId', '=', $.seriesId)
  if ($.from !== undefined) found = found.where('scheduledAt', '>=', $.from)
  if ($.to !== undefined) found = found.where('scheduledAt', '<', $.to)
  if ($.words !== undefined) {
    found = found.where(
      sql<boolean>`chat_terms(workspace_id, search_text) @@ chat_terms_query(${$.workspaceId}::uuid, ${$.words}::text[])`,
    )
  }
  if ($.lastId !== undefined) {
    found =
      $.lastTime === undefined
        ? found.where('id', '<', $.lastId)
        : found.where(sql<boolean>`(scheduled_at, id) > (${$.lastTime}::timestamptz, ${$.lastId}::uuid)`)
  }
  return found
})

/** Reads posts. Any node reads them from the database. */
export class PostReader {
  readonly #sql: Sql
  readonly #searches: Searches

  constructor(database: Sql, searches: Searches) {
    this.#sql = database
    this.#searches = searches
  }

  /** A page of posts. @throws AppError search_too_broad, overloaded for a search, or a filter by label or platform */
  async list(asked: PostFilter, { after, limit }: PageRequest): Promise<PageResult<StoredJson<PostData>>> {
    const { from, q, sort, to, ...filter } = asked
    const words = q?.split(/\s+/).filter(Boolean) ?? []
    const isByTime = sort === 'scheduledFor'
    const parameters: ListParameters = {
      ...filter,
      ...times(from, to),
      ...(words.length > 0 && { words }),
      ...(isByTime && { byTime: true }),
      ...(after !== undefined && { lastId: after.id, ...(isByTime && { lastTime: after.createdAt }) }),
      limit: limit + 1,
    }
    const read = (on: Sql) => findPosts.rows(on, parameters)
    // The effort depends on how frequent the words, the label or the platform are.
    const isSearch = words.length > 0 || filter.label !== undefined || filter.platform !== undefined
    const rows = await (isSearch ? this.#searches.run(filter.workspaceId, read) : read(this.#sql))
    return pageOf(
      rows,
      limit,
      ({ createdAt, id, scheduledAt }) => ({ createdAt: isByTime ? (scheduledAt ?? '') : createdAt, id }),
      ({ json }) => json,
    )
  }

  /** @throws AppError not_found */
  async get(id: string): Promise<PostData> {
    const row = await posts.first(this.#sql, { id, deletedAt: null }, { columns: ['view'] })
    if (row === undefined) throw NotFound()
    return row.view
  }
}

/** The bounds as PostgreSQL reads them. It refuses offsets that RFC 3339 allows. */
function times(from: string | undefined, to: string | undefined): Pick<PostFilter, 'from' | 'to'> {
  const [first, last] = [instant(from), instant(to)]
  return { ...(first && { from: first.toISOString() }), ...(last && { to: last.toISOString() }) }
}
