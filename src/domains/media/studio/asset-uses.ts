import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { AssetUse } from '../assets/index.ts'
import { studioProjects, studioVersions } from './tables.ts'

/** Kept versions with one of the assets. */
const versionsWith = query(
  { studioProjects, studioVersions },
  (db, $: { workspaceId: string; assetIds: readonly string[] }) =>
    db
      .selectFrom('studioVersions as v')
      .innerJoin('studioProjects as p', 'p.id', 'v.projectId')
      .select(['p.id', 'p.name', 'v.version', 'v.assetIds'])
      .where('p.workspaceId', '=', $.workspaceId)
      .where('v.assetIds', '&&', raw<string[]>`${$.assetIds}::uuid[]`)
      .orderBy('p.id')
      .orderBy('v.version', 'desc'),
)

/** The projects that use assets in a kept version. They can be saved after an asset was deleted, but not rendered. */
export async function assetUses(sql: Sql, workspaceId: string, assetIds: readonly string[]): Promise<AssetUse[]> {
  const found = await versionsWith.rows(sql, { workspaceId, assetIds })
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
