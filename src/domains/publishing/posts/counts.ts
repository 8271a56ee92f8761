import { isDeepStrictEqual } from 'node:util'
import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { KeptCounts } from '../../workspace/workspaces/index.ts'
import type { TargetStatus } from './state.ts'
import { postCounts } from './tables.ts'

interface Counted {
  readonly workspaceId: string
  readonly statuses?: readonly TargetStatus[] | undefined
  readonly hasTime?: boolean | undefined
  readonly approval?: string | undefined
  readonly stage?: number | undefined
}

const countOf = query({ postCounts }, (db, $: Counted) => {
  let found = db
    .selectFrom('postCounts')
    .select(raw<number>`coalesce(sum(post_count), 0)::integer`.as('count'))
    .where('workspaceId', '=', $.workspaceId)
  if ($.statuses !== undefined) found = found.where(raw<boolean>`status = any(${$.statuses}::text[])`)
  if ($.hasTime !== undefined) found = found.where('hasTime', '=', $.hasTime)
  if ($.approval !== undefined) found = found.where('approval', '=', $.approval)
  if ($.stage !== undefined) found = found.where('stage', '=', $.stage)
  return found
})

/** How many posts of a workspace are not deleted and match. In a turn, with the changes of that turn. */
export async function countPosts(sql: Sql, counted: Counted): Promise<number> {
  return (await countOf.row(sql, counted))?.count ?? 0
}

/** Posts that one statement reads. */
const PAGE = 500

interface CountPage {
  readonly last: string | null
  readonly count: number
  readonly groups: Readonly<Record<string, number>> | null
}

// Written by hand, because the totals of one page are easier to read so.
const PAGE_COUNTS = `
  with page as (
    select id, concat_ws('/', status, scheduled_at is not null, coalesce(approval ->> 'status', ''),
      coalesce(approval ->> 'stage', '0')) as key
    from posts where workspace_id = $1 and deleted_at is null and id > $2 order by id limit ${PAGE})
  select (select id from page order by id desc limit 1) as last, (select count(*) from page) as count,
    (select json_object_agg(key, n) from (select key, count(*) as n from page group by key) g) as groups`

const KEPT = `
  select concat_ws('/', status, has_time, approval, stage) as key, post_count as count
  from post_counts where workspace_id = $1 and post_count <> 0`

/** The counts of posts by their states. */
export const countsOfPosts: KeptCounts = {
  name: 'posts',

  async agrees(sql, workspaceId) {
    const rows = await sql.rows<{ key: string; count: number }>(KEPT, [workspaceId])
    return isDeepStrictEqual(await count(sql, workspaceId), new Map(rows.map((row) => [row.key, row.count])))
  },

  async recount({ sql, workspaceId }) {
    await sql.run('select post_recount(array[$1::uuid])', [workspaceId])
  },
}

async function count(sql: Sql, workspaceId: string): Promise<Map<string, number>> {
  const total = new Map<string, number>()
  for (let last = '00000000-0000-0000-0000-000000000000'; ;) {
    const page = await sql.row<CountPage>(PAGE_COUNTS, [workspaceId, last])
    for (const [key, found] of Object.entries(page?.groups ?? {})) total.set(key, (total.get(key) ?? 0) + found)
    if (page === undefined || page.last === null || page.count < PAGE) return total
    last = page.last
  }
}
