import { expressionBuilder, sql, type Expression, type SqlBool } from 'kysely'
import { readSortedCursor, writeSortedCursor } from '../../../core/sorted-cursor.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { containing } from '../../../db/like.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import type { AssetData, AssetFilter } from './schemas.ts'
import { ASSET } from './store.ts'
import { mediaTables, type MediaDatabase } from './tables.ts'
import { hasOneOfTags } from './tags.ts'
import type { AssetViews } from './views.ts'

type Sort = NonNullable<AssetFilter['sort']>

/** The filters that are set, and the sort key and id of the last asset of the previous page. */
interface Filters {
  readonly workspaceId: string
  readonly limit: number
  readonly folderId?: Values<string> | undefined
  /** Assets outside of all folders. With `folderId`, also those. */
  readonly atRoot?: true | undefined
  readonly tag?: Values<string> | undefined
  readonly kind?: Values<string> | undefined
  /** A pattern for `ilike`. */
  readonly pattern?: string | undefined
  readonly afterKey?: string | undefined
  readonly afterId?: string | undefined
}

interface Order {
  readonly direction: 'asc' | 'desc'
  /** The primary sort key and its type. The id is the secondary one. Without a key, the order is that of ids, and so of creation. */
  readonly key?: { readonly expression: Expression<unknown>; readonly type: 'text' | 'bigint' }
}

const e = expressionBuilder<MediaDatabase & { a: MediaDatabase['assets']; f: MediaDatabase['assetFiles'] }, 'a' | 'f'>()

const ORDERS: Readonly<Record<Sort, Order>> = {
  newest: { direction: 'desc' },
  oldest: { direction: 'asc' },
  name: { direction: 'asc', key: { expression: sql`lower(a.name)`, type: 'text' } },
  largest: { direction: 'desc', key: { expression: e.ref('a.size'), type: 'bigint' } },
}

/** Checks the sort key in a cursor, so that PostgreSQL accepts its value. */
const IS_SORT_KEY: Readonly<Record<Sort, (value: string) => boolean>> = {
  newest: (value) => value === '',
  oldest: (value) => value === '',
  name: (value) => /^[^\0]{0,1000}$/.test(value) && value.isWellFormed(),
  largest: (value) => /^\d{1,18}$/.test(value),
}

function conditions($: Filters): Expression<SqlBool>[] {
  const found: Expression<SqlBool>[] = [e('a.workspaceId', '=', $.workspaceId)]
  const places = [
    ...($.folderId === undefined ? [] : [isOneOf('a.folderId', $.folderId)]),
    ...($.atRoot === undefined ? [] : [e('a.folderId', 'is', null)]),
  ]
  if (places.length > 0) found.push(e.or(places))
  if ($.tag !== undefined) found.push(hasOneOfTags(sql`${$.workspaceId}::uuid`, $.tag))
  if ($.kind !== undefined) found.push(isOneOf('a.kind', $.kind))
  if ($.pattern !== undefined) {
    found.push(sql<SqlBool>`asset_text(a.name, a.alt_text, a.tags) ilike ${$.pattern}`)
  }
  return found
}

function afterCursor({ direction, key }: Order, { afterId, afterKey }: Filters): Expression<SqlBool>[] {
  if (afterId === undefined) return []
  const operator = sql.raw(direction === 'asc' ? '>' : '<')
  if (key === undefined) return [sql<SqlBool>`a.id ${operator} ${afterId}`]
  return [sql<SqlBool>`(${key.expression}, a.id) ${operator} (${afterKey}::${sql.raw(key.type)}, ${afterId}::uuid)`]
}

function listIn(bin: boolean, order: Order) {
  const { direction, key } = order
  return query(mediaTables, (db, $: Filters) => {
    const found = db
      .selectFrom('assets as a')
      .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
      .select(ASSET)
      .select(key === undefined ? sql<string>`''`.as('sortKey') : sql<string>`${key.expression}::text`.as('sortKey'))
      .where(e.and([...conditions($), ...afterCursor(order, $)]))
      .where('a.deletedAt', bin ? 'is not' : 'is', null)
      .limit($.limit)
    const sorted = key === undefined ? found : found.orderBy(key.expression, direction)
    return sorted.orderBy('a.id', direction)
  })
}

const listsIn = (bin: boolean) => ({
  newest: listIn(bin, ORDERS.newest),
  oldest: listIn(bin, ORDERS.oldest),
  name: listIn(bin, ORDERS.name),
  largest: listIn(bin, ORDERS.largest),
})
const LIBRARY = listsIn(false)
const BIN = listsIn(true)

/** One page of the assets of a workspace. @throws AppError validation_failed for a cursor of another list */
export async function listAssets(
  database: Sql,
  views: AssetViews,
  filter: AssetFilter,
): Promise<PageResult<AssetData>> {
  const sort = filter.sort ?? 'newest'
  const limit = filter.limit ?? 30
  const after = readSortedCursor(filter.cursor, sort, IS_SORT_KEY[sort])
  const hasKey = ORDERS[sort].key !== undefined
  const folders = filter.folderId?.filter((id) => id !== 'root')
  const rows = await (filter.bin === true ? BIN : LIBRARY)[sort].rows(database, {
    workspaceId: filter.workspaceId,
    limit: limit + 1,
    folderId: values(folders?.length === 0 ? undefined : folders),
    atRoot: filter.folderId?.includes('root') ? true : undefined,
    tag: values(filter.tag?.map((tag) => tag.normalize())),
    kind: values(filter.type),
    pattern: filter.q && containing(filter.q.normalize()),
    afterKey: hasKey ? after?.key : undefined,
    afterId: after?.id,
  })
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  return {
    items: items.map((row) => views.asset(row)),
    limit,
    nextCursor: last ? writeSortedCursor(sort, { key: last.sortKey, id: last.id }) : null,
  }
}
