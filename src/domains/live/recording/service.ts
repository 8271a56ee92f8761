import type { AssetLibrary, Received } from '../../media/assets/index.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Turn } from '../../../core/turn.ts'
import { type RecordingStatus, streamWarning } from '../streams/index.ts'
import { streamRecording } from './events.ts'
import { findRecording, type RecordingFile } from './store.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly recordings: Recordings
  }
}

/** A recording that is whole, stored already. */
export interface KeptRecording {
  readonly recording: RecordingFile
  readonly file: Received
  readonly seconds: number
  /** Room that was held for it while it was taken over. */
  readonly heldAs: string
}

export interface RecordingWarning {
  readonly streamId: string
  readonly code: 'recording_stopped' | 'recording_incomplete'
  /** For people. */
  readonly message: string
}

/** What live streams leave in the media library. Files come in by the node that wrote them; turns make assets of them. */
export class Recordings {
  readonly #clock: Clock
  readonly #library: AssetLibrary

  constructor(clock: Clock, library: AssetLibrary) {
    this.#clock = clock
    this.#library = library
  }

  async begun(turn: Turn, recording: RecordingFile): Promise<void> {
    if (await findRecording(turn.sql, recording.name)) return
    await this.#insert(turn, recording)
    this.#tell(turn, recording, 'recording', {})
  }

  /** Makes an asset of a recording. Doing it twice makes one. */
  async keep(turn: Turn, { file, heldAs, recording, seconds }: KeptRecording): Promise<void> {
    const known = await findRecording(turn.sql, recording.name)
    if (known?.status === 'ready') return
    if (known === undefined) await this.#insert(turn, recording)
    const about = await turn.sql.row<{ owner_id: string; title: string | null }>(
      `select w.owner_id, s.title from workspaces w left join streams s on s.id = $2 where w.id = $1`,
      [turn.workspaceId, recording.streamId],
    )
    if (about === undefined) throw NotFound()
    const begun = recording.startedAt.slice(0, 16).replace('T', ' ').replace(':', '.')
    const name = `${about.title ?? 'Recording'} ${begun}.${file.kind === 'audio' ? 'm4a' : 'mp4'}`
    const { asset } = await this.#library.add(turn, {
      file,
      userId: about.owner_id,
      name,
      tags: ['recording'],
      heldAs,
    })
    await turn.sql.run(
      `update stream_recordings set status = 'ready', asset_id = $2, seconds = $3, bytes = $4, error = null,
         updated_at = $5 where file = $1`,
      [recording.name, asset._id, seconds, file.size, new Date(this.#clock.now())],
    )
    this.#tell(turn, recording, 'ready', { assetId: asset._id, duration: seconds })
  }

  /** There is nothing to keep of a recording, or it cannot be kept. */
  async lost(turn: Turn, recording: RecordingFile, reason: string): Promise<void> {
    const known = await findRecording(turn.sql, recording.name)
    if (known !== undefined && known.status !== 'recording') return
    if (known === undefined) await this.#insert(turn, recording)
    await turn.sql.run(`update stream_recordings set status = 'failed', error = $2, updated_at = $3 where file = $1`, [
      recording.name,
      reason,
      new Date(this.#clock.now()),
    ])
    this.#tell(turn, recording, 'failed', { error: reason })
  }

  /** Says that a stream on the air is not recorded any more, or not at all, or not as a whole. */
  warn(turn: Turn, { code, message, streamId }: RecordingWarning): void {
    turn.emit(streamWarning, { streamId, code, message })
  }

  async #insert(turn: Turn, { name, sessionId, startedAt, streamId }: RecordingFile): Promise<void> {
    const now = this.#clock.now()
    await turn.sql.run(
      `insert into stream_recordings (id, workspace_id, stream_id, session_id, file, status, started_at, created_at, updated_at)
       values ($1, $2, $3, $4, $5, 'recording', $6, $7, $7)`,
      [uuidv7(now), turn.workspaceId, streamId, sessionId, name, startedAt, new Date(now)],
    )
  }

  #tell(
    turn: Turn,
    { sessionId, startedAt, streamId }: RecordingFile,
    status: RecordingStatus,
    more: { readonly assetId?: string; readonly duration?: number; readonly error?: string },
  ): void {
    const { assetId = null, duration = null, error = null } = more
    turn.emit(streamRecording, { streamId, sessionId, status, startedAt, assetId, duration, error })
  }
}
