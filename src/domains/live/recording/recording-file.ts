/** Stream, session and start of a recording. They are part of the file name, so no database is needed to read them. */
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

/** @returns undefined for a file that is not a recording */
export function parseRecording(name: string): RecordingFile | undefined {
  const [, workspaceId, streamId, sessionId, at] = NAME.exec(name) ?? []
  if (workspaceId === undefined || streamId === undefined || sessionId === undefined) return undefined
  return { name, workspaceId, streamId, sessionId, startedAt: new Date(Number(at)).toISOString() }
}
