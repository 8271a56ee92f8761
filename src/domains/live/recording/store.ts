import type { Sql } from '../../../core/sql.ts'
import type { RecordingStatus } from './schemas.ts'

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
