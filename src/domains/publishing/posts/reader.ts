import { sql } from 'kysely'
import { NotFound } from '../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult, StoredJson } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
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
}

interface ListParameters extends Omit<PostFilter, 'q'> {
  readonly words?: readonly string[]
  readonly before?: string
  readonly limit: number
}

const findPosts = query({ posts }, (db, $: ListParameters) => {
  let found = db
    .selectFrom('posts')
    .select(['id', 'createdAt', sql<StoredJson<PostData>>`view::text`.as('json')])
    .where('workspaceId', '=', $.workspaceId)
    .where('deletedAt', 'is', null)
    .orderBy('id', 'desc')
    .limit($.limit)
  if ($.status !== undefined) found = found.where('status', '=', $.status)
  if ($.platform !== undefined) found = found.where(sql<boolean>`platforms @> array[${$.platform}::text]`)
  if ($.accountId !== undefined) found = found.where(sql<boolean>`account_ids @> array[${$.accountId}::uuid]`)
  if ($.label !== undefined) found = found.where(sql<boolean>`labels @> array[${$.label}::text]`)
  if ($.batchId !== undefined) found = found.where('batchId', '=', $.batchId)
  if ($.from !== undefined) found = found.where('scheduledAt', '>=', $.from)
  if ($.to !== undefined) found = found.where('scheduledAt', '<', $.to)
  if ($.words !== undefined) {
    found = found.where(
      sql<boolean>`chat_terms(workspace_id, search_text) @@ chat_terms_query(${$.workspaceId}::uuid, ${$.words}::text[])`,
    )
  }
  if ($.before !== undefined) found = found.where('id', '<', $.before)
  return found
})

/** Reads posts. Any node reads them from the database. */
export class PostReader {
  readonly #sql: Sql

  constructor(database: Sql) {
    this.#sql = database
  }

  /** A page of posts, newest first. */
  async list({ q, ...filter }: PostFilter, { after, limit }: PageRequest): Promise<PageResult<StoredJson<PostData>>> {
    const words = q?.split(/\s+/).filter(Boolean)
    const rows = await findPosts.rows(this.#sql, {
      ...filter,
      ...(words !== undefined && words.length > 0 && { words }),
      ...(after !== undefined && { before: after.id }),
      limit: limit + 1,
    })
    return pageOf(
      rows,
      limit,
      ({ createdAt, id }) => ({ createdAt, id }),
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
