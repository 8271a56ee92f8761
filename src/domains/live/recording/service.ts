import type { AssetLibrary, ReceivedFile } from '../../media/assets/index.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Changes } from '../../../db/table.ts'
import { ownerOfWorkspace } from '../../workspace/workspaces/index.ts'
import { type RecordingStatus, streamTitles, streamWarning } from '../streams/index.ts'
import { streamRecording } from './events.ts'
import type { RecordingFile } from './recording-file.ts'
import { streamRecordings, type StreamRecording } from './tables.ts'

/** A complete recording whose file is in the storage. */
export interface KeptRecording {
  readonly recording: RecordingFile
  readonly file: ReceivedFile
  readonly seconds: number
  /** Id of the storage quota that was reserved for it. */
  readonly reservationId: string
}

export interface RecordingWarning {
  readonly streamId: string
  readonly code: 'recording_stopped' | 'recording_incomplete'
  /** For people. */
  readonly message: string
}

/**
 * The recordings of live streams. The node that wrote a file reads it in; turns turn it into an asset and announce its
 * status.
 */
export class Recordings {
  readonly #clock: Clock
  readonly #library: AssetLibrary

  constructor(clock: Clock, library: AssetLibrary) {
    this.#clock = clock
    this.#library = library
  }

  /**
   * Stores that a file is being written. Has no effect the second time.
   * @throws AppError not_found when the workspace has been purged
   */
  async begun(turn: Turn, recording: RecordingFile): Promise<void> {
    if ((await this.#statusOf(turn, recording)) !== undefined) return
    await this.#owner(turn)
    await this.#insert(turn, recording)
    this.#announce(turn, recording, 'recording', {})
  }

  /**
   * Makes an asset of a recording. Has no effect the second time.
   * @throws AppError not_found when the workspace has been purged
   */
  async keep(turn: Turn, { file, reservationId, recording, seconds }: KeptRecording): Promise<void> {
    const status = await this.#statusOf(turn, recording)
    if (status === 'ready') return
    const userId = await this.#owner(turn)
    if (status === undefined) await this.#insert(turn, recording)
    const titles = await streamTitles(turn.sql, [recording.streamId])
    const startedAt = recording.startedAt.slice(0, 16).replace('T', ' ').replace(':', '.')
    const name = `${titles.get(recording.streamId) ?? 'Recording'} ${startedAt}.${file.kind === 'audio' ? 'm4a' : 'mp4'}`
    const { asset } = await this.#library.add(turn, { file, userId, name, tags: ['recording'], reservationId })
    await this.#update(turn, recording, {
      status: 'ready',
      assetId: asset._id,
      seconds,
      bytes: file.size,
      error: null,
    })
    this.#announce(turn, recording, 'ready', { assetId: asset._id, duration: seconds })
  }

  /**
   * Stores that a recording has no content or cannot become an asset. Has no effect once the recording has ended.
   * @throws AppError not_found when the workspace has been purged
   */
  async lost(turn: Turn, recording: RecordingFile, reason: string): Promise<void> {
    const status = await this.#statusOf(turn, recording)
    if (status !== undefined && status !== 'recording') return
    if (status === undefined) {
      await this.#owner(turn)
      await this.#insert(turn, recording)
    }
    await this.#update(turn, recording, { status: 'failed', error: reason })
    this.#announce(turn, recording, 'failed', { error: reason })
  }

  /** Announces that the recording of a live stream has stopped, has not started, or is incomplete. */
  warn(turn: Turn, { code, message, streamId }: RecordingWarning): void {
    turn.emit(streamWarning, { streamId, code, message })
  }

  async #statusOf(turn: Turn, { name }: RecordingFile): Promise<RecordingStatus | undefined> {
    const row = await streamRecordings.first(turn.sql, { file: name }, { columns: ['status'] })
    return row?.status
  }

  async #owner({ sql, workspaceId }: Turn): Promise<string> {
    const userId = await ownerOfWorkspace(sql, workspaceId)
    if (userId === undefined) throw NotFound({ message: 'The workspace of the recording has been purged.' })
    return userId
  }

  async #insert(turn: Turn, { name, sessionId, startedAt, streamId }: RecordingFile): Promise<void> {
    const now = this.#clock.now()
    await streamRecordings.insert(turn.sql, {
      id: uuidv7(now),
      workspaceId: turn.workspaceId,
      streamId,
      sessionId,
      file: name,
      status: 'recording',
      startedAt,
      createdAt: new Date(now),
      updatedAt: new Date(now),
    })
  }

  async #update(turn: Turn, { name }: RecordingFile, changes: Changes<typeof StreamRecording>): Promise<void> {
    const updatedAt = new Date(this.#clock.now())
    await streamRecordings.update(turn.sql, { file: name }, { ...changes, updatedAt })
  }

  #announce(
    turn: Turn,
    { sessionId, startedAt, streamId }: RecordingFile,
    status: RecordingStatus,
    more: { readonly assetId?: string; readonly duration?: number; readonly error?: string },
  ): void {
    const { assetId = null, duration = null, error = null } = more
    turn.emit(streamRecording, { streamId, sessionId, status, startedAt, assetId, duration, error })
  }
}
