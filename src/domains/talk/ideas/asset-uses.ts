import type { Sql } from '../../../core/sql.ts'
import type { AssetUse } from '../../media/assets/index.ts'

interface Found {
  readonly id: string
  readonly title: string
  readonly assetIds: readonly string[]
}

/** The ideas that use assets. None of them needs the file. */
export async function assetUses(sql: Sql, workspaceId: string, assetIds: readonly string[]): Promise<AssetUse[]> {
  const found = await sql.rows<Found>(
    // The operator && has no equivalent in typed statements.
    `select id, left(title, 80) as title, asset_ids as "assetIds" from ideas
     where workspace_id = $1 and asset_ids && $2::uuid[] order by id`,
    [workspaceId, assetIds],
  )
  return found.flatMap(({ assetIds: used, id, title }) =>
    used
      .filter((assetId) => assetIds.includes(assetId))
      .map((assetId) => ({ assetId, id, title, kind: 'idea', scheduled: false })),
  )
}
