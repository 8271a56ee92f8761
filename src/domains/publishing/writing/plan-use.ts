import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { WorkspaceUse } from '../../social/accounts/index.ts'
import { OPEN } from './quota.ts'
import { ONGOING } from './series/actions.ts'
import { postSeries } from './series/tables.ts'
import { postCounts } from '../posts/index.ts'

interface Parameters {
  readonly workspaceIds: readonly string[]
  readonly statuses: readonly string[]
}

const openPosts = query({ postCounts }, (db, $: Parameters) =>
  db
    .selectFrom('postCounts')
    .select(['workspaceId', raw<number>`sum(post_count)::integer`.as('used')])
    .where(raw<boolean>`workspace_id = any(${$.workspaceIds}::uuid[])`)
    .where(raw<boolean>`status = any(${$.statuses}::text[])`)
    .where('postCount', '>', 0)
    .groupBy('workspaceId'),
)

const openSeries = query({ postSeries }, (db, $: Parameters) =>
  db
    .selectFrom('postSeries')
    .select(['workspaceId', raw<number>`count(*)::integer`.as('used')])
    .where(raw<boolean>`workspace_id = any(${$.workspaceIds}::uuid[])`)
    .where(raw<boolean>`status = any(${$.statuses}::text[])`)
    .groupBy('workspaceId'),
)

/** How many open and recurring posts workspaces have. Workspaces without any are left out. */
export async function planUse(sql: Sql, workspaceIds: readonly string[]): Promise<readonly WorkspaceUse[]> {
  if (workspaceIds.length === 0) return []
  const [ofPosts, ofSeries] = await Promise.all([
    openPosts.rows(sql, { workspaceIds, statuses: OPEN }),
    openSeries.rows(sql, { workspaceIds, statuses: ONGOING }),
  ])
  return [
    ...ofPosts.map((row) => ({ kind: 'openPosts' as const, ...row })),
    ...ofSeries.map((row) => ({ kind: 'recurringPosts' as const, ...row })),
  ]
}
