import type { Sql } from '../../../core/sql.ts'

/** The newest of them: enough to say what is to be done, and little enough for an event. */
const MOST_STREAMS = 100

/** Streams whose ingest keys still work: whoever has seen such a key can publish with it. The newest first. */
export async function streamsWithLiveKeys(sql: Sql, workspaceId: string, now: Date): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    'select id from streams where workspace_id = $1 and key_expires_at > $2 order by created_at desc, id desc limit $3',
    [workspaceId, now, MOST_STREAMS],
  )
  return rows.map(({ id }) => id)
}
