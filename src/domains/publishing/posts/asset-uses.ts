import type { Sql } from '../../../core/sql.ts'
import type { AssetUse } from '../../media/assets/index.ts'
import { isFinal, type TargetStatus } from './state.ts'

interface Found {
  readonly id: string
  readonly status: TargetStatus
  readonly title: string
  readonly asset_ids: readonly string[]
}

/** The posts that use assets. A post that is still to be published needs them. */
export async function assetUses(sql: Sql, workspaceId: string, assetIds: readonly string[]): Promise<AssetUse[]> {
  const found = await sql.rows<Found>(
    // The operator && has no equivalent in typed statements.
    `select id, status, left(search_text, 80) as title, asset_ids from posts
     where workspace_id = $1 and asset_ids && $2::uuid[] and deleted_at is null order by id`,
    [workspaceId, assetIds],
  )
  return found.flatMap(({ asset_ids, id, status, title }) =>
    asset_ids
      .filter((assetId) => assetIds.includes(assetId))
      .map((assetId) => ({ assetId, id, title, kind: 'post', scheduled: status !== 'draft' && !isFinal(status) })),
  )
}
