import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { AssetUse } from '../../media/assets/index.ts'
import { isFinal } from './state.ts'
import { posts } from './tables.ts'

const usingPosts = query({ posts }, (db, $: { workspaceId: string; assetIds: readonly string[] }) =>
  db
    .selectFrom('posts')
    .select(['id', 'status', 'assetIds', raw<string>`left(search_text, 80)`.as('title')])
    // In this form no index of workspaces serves it: all posts of a large one would be read.
    .where(raw<boolean>`(workspace_id = ${$.workspaceId}) is true`)
    .where(raw<boolean>`asset_ids && ${$.assetIds}::uuid[]`)
    .where('deletedAt', 'is', null)
    .orderBy('id'),
)

/** The posts that use assets. A post that is still to be published needs them. */
export async function assetUses(sql: Sql, workspaceId: string, assetIds: readonly string[]): Promise<AssetUse[]> {
  const found = await usingPosts.rows(sql, { workspaceId, assetIds })
  return found.flatMap(({ assetIds: used, id, status, title }) =>
    used
      .filter((assetId) => assetIds.includes(assetId))
      .map((assetId) => ({ assetId, id, title, kind: 'post', scheduled: status !== 'draft' && !isFinal(status) })),
  )
}
