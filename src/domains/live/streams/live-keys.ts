import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import { streams } from './tables.ts'

/** Enough to be useful, and small enough for an event. */
const MAX_STREAMS = 100

/** Streams whose ingest keys still work, newest first. Everyone who has seen such a key can publish with it. */
export async function streamsWithLiveKeys(sql: Sql, workspaceId: string, now: Date): Promise<string[]> {
  const rows = await streams.find(
    sql,
    { workspaceId, keyExpiresAt: greaterThan(now) },
    { columns: ['id'], orderBy: ['id desc'], limit: MAX_STREAMS },
  )
  return rows.map(({ id }) => id)
}
