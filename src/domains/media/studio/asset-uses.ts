import type { Sql } from '../../../core/sql.ts'
import type { AssetUse } from '../assets/index.ts'

interface Found {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly assetIds: readonly string[]
}

/** The projects that use assets in a kept version. They can be saved after an asset was deleted, but not rendered. */
export async function assetUses(sql: Sql, workspaceId: string, assetIds: readonly string[]): Promise<AssetUse[]> {
  const found = await sql.rows<Found>(
    // The operator && has no equivalent in typed statements.
    `select p.id, p.name, v.version, v.asset_ids as "assetIds"
     from studio_versions v join studio_projects p on p.id = v.project_id
     where p.workspace_id = $1 and v.asset_ids && $2::uuid[] order by p.id, v.version desc`,
    [workspaceId, assetIds],
  )
  const uses = new Map<string, AssetUse & { versionNumbers: number[] }>()
  for (const { assetIds: used, id, name, version } of found) {
    for (const assetId of used.filter((one) => assetIds.includes(one))) {
      const key = `${id} ${assetId}`
      const use = uses.get(key) ?? {
        assetId,
        id,
        title: name,
        kind: 'studio_project',
        scheduled: false,
        versionNumbers: [],
      }
      uses.set(key, use)
      use.versionNumbers.push(version)
    }
  }
  return [...uses.values()]
}
