import { ValidationFailed } from '../../../core/errors.ts'
import { isTimestamp, isUuid } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql, SqlValue } from '../../../core/sql.ts'
import type { AssetData, AssetFilter } from './schemas.ts'
import { SELECT_ASSET, type AssetRow } from './store.ts'
import type { AssetViews } from './views.ts'

type Sort = NonNullable<AssetFilter['sort']>

interface Order {
  /** What the list is sorted by, and how a cursor spells it. */
  readonly expression: string
  readonly cast: string
  readonly direction: 'asc' | 'desc'
}

const ORDERS: Readonly<Record<Sort, Order>> = {
  newest: { expression: 'a.created_at', cast: 'timestamptz', direction: 'desc' },
  oldest: { expression: 'a.created_at', cast: 'timestamptz', direction: 'asc' },
  name: { expression: 'lower(a.name)', cast: 'text', direction: 'asc' },
  largest: { expression: 'f.size', cast: 'bigint', direction: 'desc' },
}

const WHERE = `a.workspace_id = $1
  and ($2::uuid is null or a.folder_id = $2) and (not $3::boolean or a.folder_id is null)
  and ($4::text is null or a.tags @> array[$4]) and ($5::text is null or f.kind = $5)
  and ($6::text is null or a.name ilike $6 or a.alt_text ilike $6
    or exists (select 1 from unnest(a.tags) tag where tag ilike $6))`

/** What a cursor of each list may hold: what PostgreSQL reads again. */
const CURSORS: Readonly<Record<Sort, (value: string) => boolean>> = {
  newest: isTimestamp,
  oldest: isTimestamp,
  name: (value) => /^[^\0]{0,1000}$/.test(value) && value.isWellFormed(),
  largest: (value) => /^\d{1,18}$/.test(value),
}

type Texts = Readonly<Record<Sort, { readonly first: string; readonly next: string }>>

/** One text each, so that each is prepared once. */
function textsWhere(condition: string): Texts {
  const texts = Object.entries(ORDERS).map(([sort, { cast, direction, expression }]) => {
    const select = SELECT_ASSET.replace('select ', `select ${expression}::text as sort_key, `)
    const where = `where ${WHERE} and ${condition}`
    const end = `order by ${expression} ${direction}, a.id ${direction} limit $7`
    const after = `and (${expression}, a.id) ${direction === 'asc' ? '>' : '<'} ($8::${cast}, $9::uuid)`
    return [sort, { first: `${select} ${where} ${end}`, next: `${select} ${where} ${after} ${end}` }]
  })
  return Object.fromEntries(texts) as Texts
}

const LIBRARY = textsWhere('a.deleted_at is null')
const BIN = textsWhere('a.deleted_at is not null')

/** One page of a workspace's assets. @throws AppError validation_failed for a cursor of another list */
export async function listAssets(sql: Sql, views: AssetViews, filter: AssetFilter): Promise<PageResult<AssetData>> {
  const sort = filter.sort ?? 'newest'
  const limit = filter.limit ?? 30
  const values: SqlValue[] = [
    filter.workspaceId,
    filter.folderId === undefined || filter.folderId === 'root' ? null : filter.folderId,
    filter.folderId === 'root',
    filter.tag?.normalize() ?? null,
    filter.type ?? null,
    filter.q === undefined ? null : `%${filter.q.normalize().replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`,
    limit + 1,
  ]
  const cursor = filter.cursor === undefined ? undefined : readCursor(filter.cursor, sort)
  const { first, next } = (filter.bin === true ? BIN : LIBRARY)[sort]
  const rows = await sql.rows<AssetRow & { readonly sort_key: string }>(
    cursor ? next : first,
    cursor ? [...values, ...cursor] : values,
  )
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    items: shown.map((row) => views.asset(row)),
    limit,
    nextCursor: last ? Buffer.from(JSON.stringify([sort, last.sort_key, last.id])).toString('base64url') : null,
  }
}

function readCursor(text: string, sort: Sort): [string, string] {
  try {
    const [of, value, id] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[]
    if (of === sort && typeof value === 'string' && CURSORS[sort](value) && typeof id === 'string' && isUuid(id)) {
      return [value, id]
    }
  } catch {
    // Falls through: whatever it is, it is no cursor of ours.
  }
  throw ValidationFailed({
    errors: [{ path: '/query/cursor', code: 'cursor', message: 'must be a `nextCursor` of the same list' }],
  })
}
