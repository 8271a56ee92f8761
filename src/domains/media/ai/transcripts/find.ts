import type { Sql } from '../../../../core/sql.ts'
import { aiTranscripts, type TranscriptRow } from '../tables.ts'

/** A transcript of a workspace. Undefined if it has none with this id. */
export function findTranscript(sql: Sql, workspaceId: string, id: string): Promise<TranscriptRow | undefined> {
  return aiTranscripts.first(sql, { id, workspaceId })
}
