import { sql, type Expression, type Kysely, type SelectQueryBuilder } from 'kysely'
import { NotFound } from '../../../core/errors.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult, StoredJson } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { hasOneOf, isOneOf, isSeveral, query, values, type DatabaseOf, type Values } from '../../../db/query.ts'
import type { Searches } from '../../../db/searches.ts'
import type { PostData } from './schemas.ts'
import type { TargetStatus } from './state.ts'
import { posts, type PostRow } from './tables.ts'

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

type Posts = Kysely<DatabaseOf<{ posts: typeof posts }>>

/** The posts that match all filters but the words, after the last one of the page before. */
function filtered(db: Posts, $: ListParameters) {
  let found = db.selectFrom('posts').where('workspaceId', '=', $.workspaceId).where('deletedAt', 'is', null)
  if ($.byTime !== undefined) found = found.where('scheduledAt', 'is not', null)
  if ($.status !== undefined) found = found.where(isOneOf('status', $.status))
  if ($.platform !== undefined) found = found.where(hasOneOfTerms('platforms', $.workspaceId, $.platform))
  if ($.accountId !== undefined) {
    // A calendar reads its range in order. With an index of the account, all of its posts would be read and sorted.
    const isCalendar = $.byTime !== undefined && ($.from !== undefined || $.to !== undefined)
    const hasAccount = hasOneOf('accountIds', $.accountId, 'uuid')
    found = found.where(isCalendar ? sql<boolean>`(${hasAccount}) is true` : hasAccount)
  }
  if ($.label !== undefined) found = found.where(hasOneOfTerms('labels', $.workspaceId, $.label))
  // Their indexes have no posts without one, and a list of ids does not tell PostgreSQL that none is asked for.
  if ($.batchId !== undefined) found = found.where(isOneOf('batchId', $.batchId)).where('batchId', 'is not', null)
  if ($.seriesId !== undefined) found = found.where(isOneOf('seriesId', $.seriesId)).where('seriesId', 'is not', null)
  if ($.from !== undefined) found = found.where('scheduledAt', '>=', $.from)
  if ($.to !== undefined) found = found.where('scheduledAt', '<', $.to)
  if ($.lastId !== undefined) {
    found =
      $.lastTime === undefined
        ? found.where('id', '<', $.lastId)
        : found.where(sql<boolean>`(scheduled_at, id) > (${$.lastTime}::timestamptz, ${$.lastId}::uuid)`)
  }
  return found
}

/** The condition that a post has all words, which the index `posts_by_text` serves. */
function hasWords($: Pick<ListParameters, 'workspaceId' | 'words'>) {
  return sql<boolean>`chat_terms(workspace_id, search_text) @@ chat_terms_query(${$.workspaceId}::uuid, ${$.words}::text[])`
}

/** Sorts a list. @param from the table or expression whose columns these are */
function sorted<DB, TB extends keyof DB, O>(found: SelectQueryBuilder<DB, TB, O>, $: ListParameters, from: string) {
  const [time, id] = [sql.ref(`${from}.scheduledAt`), sql.ref(`${from}.id`)]
  return $.byTime === undefined ? found.orderBy(id, 'desc') : found.orderBy(time).orderBy(id)
}

const COLUMNS = ['posts.id', 'posts.createdAt', 'posts.scheduledAt'] as const
const json = () => sql<StoredJson<PostData>>`posts.view::text`.as('json')

const findPosts = query({ posts }, (db, $: ListParameters) =>
  sorted(filtered(db, $), $, 'posts').select(COLUMNS).select(json()).limit($.limit),
)

/** How many posts of a list are looked at for frequent words. */
const LOOKED_AT = 500

/** Searches the first posts of a list. They fill a page if the words are frequent. */
const findAmongFirst = query({ posts }, (db, $: ListParameters) => {
  const first = sorted(filtered(db, $), $, 'posts')
    .select(['id', 'scheduledAt', 'workspaceId', 'searchText'])
    .limit(sql.lit(LOOKED_AT))
  return pageAmong(db, $, db.selectFrom(first.as('first')).select(['id', 'scheduledAt']).where(hasWords($)))
})

/**
 * Searches all posts by the index. PostgreSQL cannot know how many posts have a word, and would rather walk a list until a
 * page is full, which reads all posts for a rare word.
 */
const findByWords = query({ posts }, (db, $: ListParameters) =>
  pageAmong(db, $, filtered(db, $).where(hasWords($)).select(['id', 'scheduledAt'])),
)

/** A page of posts that are found before anything is sorted. */
function pageAmong(db: Posts, $: ListParameters, matches: Expression<Pick<PostRow, 'id' | 'scheduledAt'>>) {
  const page = db
    .with(
      (cte) => cte('matches').materialized(),
      () => matches,
    )
    .with('page', (from) =>
      sorted(from.selectFrom('matches').select(['id', 'scheduledAt']), $, 'matches').limit($.limit),
    )
    .selectFrom('page')
    .innerJoin('posts', 'posts.id', 'page.id')
  return sorted(page, $, 'page').select(COLUMNS).select(json())
}

/** Reads posts. Any node reads them from the database. */
export class PostReader {
  readonly #sql: Sql
  readonly #searches: Searches

  constructor(database: Sql, searches: Searches) {
    this.#sql = database
    this.#searches = searches
  }

  /** A page of posts. @throws AppError search_too_broad, overloaded for a search or a filter by label, platform or account */
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
    const read = async (on: Sql) => {
      if (words.length === 0) return findPosts.rows(on, parameters)
      const first = await findAmongFirst.rows(on, parameters)
      return first.length > limit ? first : findByWords.rows(on, parameters)
    }
    // The plan depends on how frequent the words, the label, the platform or the account are.
    const { accountId, label, platform } = parameters
    const isSearch = words.length > 0 || [label, platform, accountId].some((filter) => filter !== undefined)
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
