import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { AssetUse } from '../../media/assets/index.ts'
import { ideas } from './tables.ts'

const ideasWith = query({ ideas }, (db, $: { workspaceId: string; assetIds: readonly string[] }) =>
  db
    .selectFrom('ideas')
    .select((e) => ['id', e.fn<string>('left', ['title', e.lit(80)]).as('title'), 'assetIds'])
    .where('workspaceId', '=', $.workspaceId)
    .where('assetIds', '&&', raw<string[]>`${$.assetIds}::uuid[]`)
    .orderBy('id'),
)

/** The ideas that use assets. None of them needs the file. */
export async function assetUses(sql: Sql, workspaceId: string, assetIds: readonly string[]): Promise<AssetUse[]> {
  const found = await ideasWith.rows(sql, { workspaceId, assetIds })
  return found.flatMap(({ assetIds: used, id, title }) =>
    used
      .filter((assetId) => assetIds.includes(assetId))
      .map((assetId) => ({ assetId, id, title, kind: 'idea', scheduled: false })),
  )
}
