import { sql } from 'kysely'
import { NotFound } from '../../../core/errors.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult, StoredJson } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { hasOneOf, isOneOf, isSeveral, query, values, type Values } from '../../../db/query.ts'
import type { Searches } from '../../../db/searches.ts'
import type { PostData } from './schemas.ts'
import type { TargetStatus } from './state.ts'
import { posts } from './tables.ts'

export interface PostFilter {
  readonly workspaceId: string
  /** Each filter has one or several values. A post that matches any of them is in the list. */
  readonly status?: readonly TargetStatus[]
  readonly platform?: readonly string[]
  readonly accountId?: readonly string[]
  /** ISO 8601. */
  readonly from?: string
  readonly to?: string
  readonly q?: string
  readonly label?: readonly string[]
  readonly batchId?: readonly string[]
  readonly seriesId?: readonly string[]
  /** `scheduledFor`: soonest first, without posts that have no time. Newest first by default. */
  readonly sort?: 'newest' | 'scheduledFor'
}

/** The filters with one or several values. */
const SEVERAL = ['status', 'platform', 'accountId', 'label', 'batchId', 'seriesId'] as const
type SeveralFilters = { readonly [K in (typeof SEVERAL)[number]]?: Values<string> | undefined }

interface ListParameters extends Pick<PostFilter, 'workspaceId' | 'from' | 'to'>, SeveralFilters {
  readonly words?: readonly string[]
  /** Present if the list is sorted by time. */
  readonly byTime?: true
  /** The last post of the page before. */
  readonly lastId?: string
  readonly lastTime?: string
  readonly limit: number
}

/** Whether a list of a post has one of these terms, as a condition that an index of all workspaces serves. */
function hasOneOfTerms(column: 'labels' | 'platforms', workspaceId: string, wanted: Values<string>) {
  const terms = sql`workspace_terms(workspace_id, ${sql.ref(column)})`
  return isSeveral(wanted)
    ? sql<boolean>`${terms} && workspace_terms(${workspaceId}::uuid, ${wanted}::text[])`
    : sql<boolean>`${terms} @> workspace_terms(${workspaceId}::uuid, array[${wanted}::text])`
}

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
  if ($.status !== undefined) found = found.where(isOneOf('status', $.status))
  if ($.platform !== undefined) found = found.where(hasOneOfTerms('platforms', $.workspaceId, $.platform))
  if ($.accountId !== undefined) {
    // A calendar reads its range in order. With an index of the account, all of its posts would be read and sorted.
    const isCalendar = $.byTime !== undefined && ($.from !== undefined || $.to !== undefined)
    const hasAccount = hasOneOf('accountIds', $.accountId, 'uuid')
    found = found.where(isCalendar ? sql<boolean>`(${hasAccount}) is true` : hasAccount)
  }
  if ($.label !== undefined) found = found.where(hasOneOfTerms('labels', $.workspaceId, $.label))
  if ($.batchId !== undefined) found = found.where(isOneOf('batchId', $.batchId))
  if ($.seriesId !== undefined) found = found.where(isOneOf('seriesId', $.seriesId))
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
    const { from, q, sort, to, workspaceId } = asked
    const words = q?.split(/\s+/).filter(Boolean) ?? []
    const isByTime = sort === 'scheduledFor'
    const parameters: ListParameters = {
      workspaceId,
      ...(Object.fromEntries(SEVERAL.map((name) => [name, values<string>(asked[name])])) as SeveralFilters),
      ...times(from, to),
      ...(words.length > 0 && { words }),
      ...(isByTime && { byTime: true }),
      ...(after !== undefined && { lastId: after.id, ...(isByTime && { lastTime: after.createdAt }) }),
      limit: limit + 1,
    }
    const read = (on: Sql) => findPosts.rows(on, parameters)
    // The effort depends on how frequent the words, the label or the platform are.
    const isSearch = words.length > 0 || parameters.label !== undefined || parameters.platform !== undefined
    const rows = await (isSearch ? this.#searches.run(workspaceId, read) : read(this.#sql))
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
