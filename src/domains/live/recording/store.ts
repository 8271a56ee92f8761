import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import type { RecordingStatus } from '../streams/index.ts'
import { streamRecordings } from './tables.ts'

/** A recording as the session of its stream shows it. */
interface SessionRecording {
  readonly assetId: string | null
  readonly status: RecordingStatus
  readonly error: string | null
  readonly size: number | null
  readonly duration: number | null
  readonly startedAt: string
}

/** The recordings of sessions by session id, oldest first. */
export async function recordingsOfSessions(
  sql: Sql,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, SessionRecording[]>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await streamRecordings.find(
    sql,
    { sessionId: anyOf(sessionIds) },
    {
      columns: ['sessionId', 'assetId', 'status', 'error', 'bytes', 'seconds', 'startedAt'],
      orderBy: ['startedAt asc'],
    },
  )
  const recordings = new Map<string, SessionRecording[]>()
  for (const { bytes, seconds, sessionId, ...shown } of rows) {
    const ofSession = recordings.get(sessionId) ?? []
    ofSession.push({ ...shown, size: bytes, duration: seconds })
    recordings.set(sessionId, ofSession)
  }
  return recordings
}
