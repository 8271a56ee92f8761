import { buffer } from 'node:stream/consumers'
import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { Foundation } from '../../../../foundation.ts'
import { pictureKey } from '../collection/pictures.ts'
import { analyticsContent } from '../tables.ts'

/** The pictures of imported posts as WebP in Base64, by record. One whose file is gone is left out. */
export async function importedPictures(
  { sql, storage }: Pick<Foundation, 'storage'> & { readonly sql: Sql },
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  if (ids.length === 0) return found
  const rows = await analyticsContent.find(sql, { workspaceId, id: anyOf(ids) }, { columns: ['id', 'pictureId'] })
  for (const { id, pictureId } of rows) {
    const stream = pictureId === null ? undefined : await storage.get(pictureKey(workspaceId, pictureId))
    if (stream !== undefined) found.set(id, (await buffer(stream)).toString('base64'))
  }
  return found
}
