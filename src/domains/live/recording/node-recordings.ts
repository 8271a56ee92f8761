import { createReadStream } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { DesiredStream, MediaEvent } from '../../../../media/types.ts'
import type { Intake, Quota } from '../../media/assets/index.ts'
import { SECOND } from '../../../core/clock.ts'
import { AppError } from '../../../core/error.ts'
import type { SystemTurn } from '../../../core/system-turn.ts'
import { removeAccessOfOthers, makeFolder } from '../../../storage/disk-modes.ts'
import type { Foundation } from '../../../foundation.ts'
import type { DesiredState } from '../streams/index.ts'
import { parseRecording, recordingPrefix, type RecordingFile } from './recording-file.ts'
import { keepRecording, recordingBegun, recordingLost, warnOfRecording } from './turns.ts'
import { RecordingQuota } from './recording-quota.ts'

export interface RecordingSettings {
  /** Folder of recordings that are not assets yet. It survives restarts. */
  readonly folder: string
  readonly splitMs: number
  readonly quota: Quota
  readonly intake: Intake
  /** Removes the unfinished end of a file whose process was killed. Undefined when the file has no content. */
  readonly repair: (path: string) => Promise<{ readonly bytes: number; readonly seconds: number } | undefined>
}

type Dependencies = RecordingSettings &
  Pick<Foundation, 'log' | 'turns'> & {
    /** Applies the desired state of a stream to the media process. */
    readonly refresh: (streamId: string) => void
  }

const RETRY_MS = 5 * SECOND
const NO_STORAGE =
  'The recording has stopped because the storage of the plan is used up. What was recorded until then is kept.'

/**
 * Decides what this node records, and makes assets of the files. A file stays in the folder until it is an asset, also
 * when a process ends in between.
 */
export class NodeRecordings {
  readonly #dependencies: Dependencies
  /** Reserved storage by session. */
  readonly #quotas = new Map<string, RecordingQuota>()
  /** The session that is recorded, by stream. */
  readonly #current = new Map<string, string>()
  /** Sessions whose recording was stopped. */
  readonly #stopped = new Set<string>()
  readonly #writing = new Map<string, RecordingFile>()
  #importing: Promise<void> = Promise.resolve()
  /** Whether the files of an earlier process are listed. Recording before that would add files that look like those. */
  #hasListed = false
  readonly #closing = new AbortController()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Imports the files that an earlier process left. Nothing is recorded until they are listed: see {@link complete}.
   * @param onReady called when they are listed
   */
  async start(onReady = () => {}): Promise<void> {
    await makeFolder(this.#dependencies.folder)
    await removeAccessOfOthers(this.#dependencies.folder)
    for (const name of await readdir(this.#dependencies.folder)) {
      const recording = parseRecording(name)
      if (recording !== undefined) this.#import(recording)
    }
    this.#hasListed = true
    onReady()
  }

  /** Reserves storage before a recording starts. To be called before {@link complete}. */
  async prepare({ recordSession, stream: { streamId }, workspaceId }: DesiredState): Promise<void> {
    const before = this.#current.get(streamId)
    if (before !== undefined && before !== recordSession) await this.forget(streamId)
    if (recordSession === null) return
    this.#current.set(streamId, recordSession)
    if (before === recordSession || this.#stopped.has(recordSession)) return
    if (!(await this.#quotaOf(workspaceId, recordSession).ensure())) this.#stop(workspaceId, streamId, recordSession)
  }

  /** Adds the recording to the desired state of a stream. */
  complete({ recordGaps: gaps, recordSession, workspaceId }: DesiredState, stream: DesiredStream): DesiredStream {
    if (!this.#hasListed || recordSession === null || this.#stopped.has(recordSession)) return stream
    const { streamId } = stream
    const prefix = recordingPrefix({ workspaceId, streamId, sessionId: recordSession })
    const { folder, splitMs } = this.#dependencies
    return { ...stream, recording: { sessionId: recordSession, prefix: join(folder, prefix), splitMs, gaps } }
  }

  onEvent(event: MediaEvent): void {
    if (event.type === 'recording.refused') return this.#onRefused(event)
    const recording = 'path' in event ? parseRecording(basename(event.path)) : undefined
    if (recording === undefined) return
    switch (event.type) {
      case 'recording.started':
        this.#writing.set(recording.name, recording)
        this.#turn(recording.workspaceId, recordingBegun, recording)
        break
      case 'recording.progress':
        this.#onProgress(recording, event.bytes)
        break
      case 'recording.ended':
        this.#writing.delete(recording.name)
        if (event.failure !== null) {
          this.#stopped.add(recording.sessionId)
          const { streamId, workspaceId } = recording
          this.#turn(workspaceId, warnOfRecording, { streamId, code: 'recording_stopped', message: event.failure })
        }
        this.#import(recording)
    }
  }

  /** The media process has ended. Its files are complete up to the last fragment. */
  lostAll(): void {
    for (const recording of this.#writing.values()) this.#import(recording)
    this.#writing.clear()
  }

  async forget(streamId: string): Promise<void> {
    const session = this.#current.get(streamId)
    this.#current.delete(streamId)
    if (session !== undefined) await this.#release(session)
  }

  /** Waits for imports. The next start imports the rest. */
  async close(withinMs: number): Promise<void> {
    const done = this.#importing
    await Promise.race([done, delay(withinMs, undefined, { ref: false })])
    this.#closing.abort()
  }

  #onProgress({ name, sessionId, streamId, workspaceId }: RecordingFile, bytes: number): void {
    const quota = this.#quotaOf(workspaceId, sessionId)
    quota.note(name, bytes)
    quota.ensure().then(
      (fits) => fits || this.#stop(workspaceId, streamId, sessionId),
      (error: unknown) =>
        this.#dependencies.log.warn({ error, streamId }, 'storage for a recording could not be reserved'),
    )
  }

  #stop(workspaceId: string, streamId: string, sessionId: string): void {
    if (this.#stopped.has(sessionId)) return
    this.#stopped.add(sessionId)
    this.#dependencies.log.warn({ streamId }, 'a recording has stopped because the storage of the plan is used up')
    this.#turn(workspaceId, warnOfRecording, { streamId, code: 'recording_stopped', message: NO_STORAGE })
    this.#dependencies.refresh(streamId)
  }

  #onRefused({ kind, message, streamId }: Extract<MediaEvent, { type: 'recording.refused' }>): void {
    const session = this.#current.get(streamId)
    const workspaceId = session && this.#quotas.get(session)?.workspaceId
    const code = kind === 'video' ? 'recording_stopped' : 'recording_incomplete'
    if (workspaceId) this.#turn(workspaceId, warnOfRecording, { streamId, code, message })
  }

  #quotaOf(workspaceId: string, sessionId: string): RecordingQuota {
    let quota = this.#quotas.get(sessionId)
    if (quota === undefined) {
      quota = new RecordingQuota(this.#dependencies.quota, workspaceId, sessionId)
      this.#quotas.set(sessionId, quota)
    }
    return quota
  }

  /** Imports run one at a time, because each reads and writes a whole file. */
  #import(recording: RecordingFile): void {
    this.#importing = this.#importing.then(() => this.#untilImported(recording))
  }

  async #untilImported(recording: RecordingFile): Promise<void> {
    const { log } = this.#dependencies
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#importOnce(recording)
        return
      } catch (error) {
        if (error instanceof AppError && error.status < 500 && error.code !== 'storage_full') {
          log.error({ error, file: recording.name }, 'the media library refused a recording; the file is kept')
          const path = join(this.#dependencies.folder, recording.name)
          await rename(path, `${path}.refused`).catch(() => {})
          this.#turn(recording.workspaceId, recordingLost, { recording, reason: error.message })
          return
        }
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#onMissing(recording)
        log.warn({ error, file: recording.name }, 'a recording could not be imported; trying again')
        await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {})
      }
    }
  }

  /** Gives up a recording without a file, so that the next ones can be imported. */
  #onMissing(recording: RecordingFile): void {
    this.#dependencies.log.error({ file: recording.name }, 'the file of a recording is missing')
    this.#quotaOf(recording.workspaceId, recording.sessionId).drop(recording.name)
    this.#turn(recording.workspaceId, recordingLost, { recording, reason: 'The file of the recording is missing.' })
  }

  async #importOnce(recording: RecordingFile): Promise<void> {
    const { folder, intake, repair, turns } = this.#dependencies
    const { name, sessionId, workspaceId } = recording
    const path = join(folder, name)
    const repaired = await repair(path)
    const quota = this.#quotaOf(workspaceId, sessionId)
    if (repaired === undefined) {
      await turns.system(workspaceId, recordingLost, {
        recording,
        reason: 'The recording ended before anything was written.',
      })
    } else {
      quota.note(name, repaired.bytes)
      const file = await intake.receive(workspaceId, createReadStream(path), 'recording.mp4', Infinity)
      // The reservation covers all files of the session. It is reduced when this file counts as an asset.
      await turns.system(workspaceId, keepRecording, {
        recording,
        file,
        seconds: repaired.seconds,
        reservationId: file.fileId,
      })
    }
    await rm(path, { force: true })
    quota.drop(name)
    await this.#release(sessionId)
  }

  /** Releases the reserved storage of a session that has ended and whose files are all imported. */
  async #release(sessionId: string): Promise<void> {
    const quota = this.#quotas.get(sessionId)
    if (quota === undefined || !quota.isEmpty || [...this.#current.values()].includes(sessionId)) return
    this.#quotas.delete(sessionId)
    await quota.release()
  }

  /** Runs a system turn. Retried while the database is unavailable; a refusal is final. */
  #turn<I>(workspaceId: string, turn: SystemTurn<I, void>, input: I, tries = 30): void {
    this.#dependencies.turns.system(workspaceId, turn, input).catch((error: unknown) => {
      if (error instanceof AppError && error.status < 500) {
        this.#dependencies.log.warn({ error, turn: turn.name, workspaceId }, 'the status of a recording was refused')
        return
      }
      this.#dependencies.log.warn({ error, turn: turn.name }, 'the status of a recording could not be stored')
      if (tries > 0) setTimeout(() => this.#turn(workspaceId, turn, input, tries - 1), SECOND).unref()
    })
  }
}
