import type { Sql } from '../../../core/sql.ts'
import type { RecordingStatus } from '../streams/index.ts'

/** Whose recording a file is and when it began: its name says so, so that it is known again without a database. */
export interface RecordingFile {
  readonly name: string
  readonly workspaceId: string
  readonly streamId: string
  readonly sessionId: string
  /** ISO 8601. */
  readonly startedAt: string
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const NAME = new RegExp(`^(${UUID})\\.(${UUID})\\.(${UUID})\\.(\\d{1,15})\\.mp4$`)

export function recordingPrefix({
  sessionId,
  streamId,
  workspaceId,
}: Omit<RecordingFile, 'name' | 'startedAt'>): string {
  return `${workspaceId}.${streamId}.${sessionId}`
}

/** Undefined for a file that is no recording. */
export function parseRecording(name: string): RecordingFile | undefined {
  const [, workspaceId, streamId, sessionId, at] = NAME.exec(name) ?? []
  if (workspaceId === undefined || streamId === undefined || sessionId === undefined) return undefined
  return { name, workspaceId, streamId, sessionId, startedAt: new Date(Number(at)).toISOString() }
}

export interface RecordingRow {
  readonly id: string
  readonly status: RecordingStatus
}

export function findRecording(sql: Sql, file: string): Promise<RecordingRow | undefined> {
  return sql.row<RecordingRow>('select id, status from stream_recordings where file = $1', [file])
}

/** Deletes the recordings of workspaces. Their assets are deleted by the media library. */
export async function purgeRecordings(sql: Sql, workspaceIds: readonly string[]): Promise<void> {
  await sql.run('delete from stream_recordings where workspace_id = any($1)', [workspaceIds])
}

interface SessionRecording {
  readonly assetId: string | null
  readonly status: RecordingStatus
  readonly startedAt: string
  readonly duration: number | null
  readonly size: number | null
  readonly error: string | null
}

/** The recordings of sessions, oldest first, by session. */
export async function recordingsOfSessions(
  sql: Sql,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, SessionRecording[]>> {
  const rows = await sql.rows<SessionRecording & { sessionId: string }>(
    `select session_id as "sessionId", asset_id as "assetId", status, started_at as "startedAt", seconds as duration,
       bytes as size, error
     from stream_recordings where session_id = any($1) order by started_at`,
    [sessionIds],
  )
  const bySession = new Map<string, SessionRecording[]>()
  for (const { sessionId, ...recording } of rows) {
    const recordings = bySession.get(sessionId)
    if (recordings === undefined) bySession.set(sessionId, [recording])
    else recordings.push(recording)
  }
  return bySession
}
