import { createReadStream } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { DesiredStream, MediaEvent } from '../../../../media/types.ts'
import type { Intake, Quota } from '../../media/assets/index.ts'
import { SECOND } from '../../../core/clock.ts'
import { AppError } from '../../../core/error.ts'
import type { Logger } from '../../../core/log.ts'
import type { SystemTurn, TurnRunner } from '../../../core/system-turn.ts'
import { removeAccessOfOthers, makeFolder } from '../../../storage/disk-modes.ts'
import type { DesiredState } from '../streams/index.ts'
import { parseRecording, recordingPrefix, type RecordingFile } from './recording-file.ts'
import { keepRecording, recordingBegun, recordingLost, warnOfRecording } from './turns.ts'
import { RecordingRoom } from './recording-room.ts'

export interface RecordingSettings {
  /** Folder of files that are no assets yet; survives restarts. */
  readonly folder: string
  readonly splitMs: number
  readonly quota: Quota
  readonly intake: Intake
  /** Cuts off what a killed process left unfinished; undefined when there is nothing in the file. */
  readonly mend: (path: string) => Promise<{ readonly bytes: number; readonly seconds: number } | undefined>
}

export interface RecordingKeeperOptions extends RecordingSettings {
  readonly turns: TurnRunner
  readonly log: Logger
  /** Makes the media process hold what a stream ought to be now. */
  readonly refresh: (streamId: string) => void
}

const RETRY_MS = 5 * SECOND
const NO_ROOM = 'The plan has no room left for the recording: it has ended, and what was recorded is kept.'

/**
 * Says what this node records, and makes assets of the files. A file in the folder is a promise: it leaves it as an
 * asset, whatever ends in between.
 */
export class RecordingKeeper {
  readonly #options: RecordingKeeperOptions
  /** By broadcast. */
  readonly #rooms = new Map<string, RecordingRoom>()
  /** The broadcast that each stream records. */
  readonly #current = new Map<string, string>()
  /** Broadcasts that are not recorded any more. */
  readonly #stopped = new Set<string>()
  readonly #writing = new Map<string, RecordingFile>()
  #importing: Promise<void> = Promise.resolve()
  /** Whether it is known what an earlier process left. Before that a file that is being written would be taken for it. */
  #hasLooked = false
  readonly #closing = new AbortController()

  constructor(options: RecordingKeeperOptions) {
    this.#options = options
  }

  /**
   * Takes over what an earlier process left. Until that is known nothing is recorded: see {@link complete}.
   * @param onReady called when it is
   */
  async start(onReady = () => {}): Promise<void> {
    await makeFolder(this.#options.folder)
    await removeAccessOfOthers(this.#options.folder)
    for (const name of await readdir(this.#options.folder)) {
      const recording = parseRecording(name)
      if (recording !== undefined) this.#import(recording)
    }
    this.#hasLooked = true
    onReady()
  }

  /** Holds room before anything is recorded; to be called before {@link complete}. */
  async prepare({ recordSession, stream: { streamId }, workspaceId }: DesiredState): Promise<void> {
    const before = this.#current.get(streamId)
    if (before !== undefined && before !== recordSession) await this.forget(streamId)
    if (recordSession === null) return
    this.#current.set(streamId, recordSession)
    if (before === recordSession || this.#stopped.has(recordSession)) return
    if (!(await this.#room(workspaceId, recordSession).ensure())) this.#stop(workspaceId, streamId, recordSession)
  }

  /** The state of a stream as the media process is to hold it. */
  complete({ recordGaps: gaps, recordSession, workspaceId }: DesiredState, stream: DesiredStream): DesiredStream {
    if (!this.#hasLooked || recordSession === null || this.#stopped.has(recordSession)) return stream
    const { streamId } = stream
    const prefix = recordingPrefix({ workspaceId, streamId, sessionId: recordSession })
    const { folder, splitMs } = this.#options
    return { ...stream, recording: { sessionId: recordSession, prefix: join(folder, prefix), splitMs, gaps } }
  }

  onEvent(event: MediaEvent): void {
    if (event.type === 'recording.refused') return this.#refused(event)
    const recording = 'path' in event ? parseRecording(basename(event.path)) : undefined
    if (recording === undefined) return
    switch (event.type) {
      case 'recording.started':
        this.#writing.set(recording.name, recording)
        this.#turn(recording.workspaceId, recordingBegun, recording)
        break
      case 'recording.progress':
        this.#grown(recording, event.bytes)
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

  /** The media process is gone: what it wrote is whole up to its last fragment. */
  lostAll(): void {
    for (const recording of this.#writing.values()) this.#import(recording)
    this.#writing.clear()
  }

  async forget(streamId: string): Promise<void> {
    const session = this.#current.get(streamId)
    this.#current.delete(streamId)
    if (session !== undefined) await this.#release(session)
  }

  /** What is not taken over yet is taken over by the next start. */
  async close(withinMs: number): Promise<void> {
    const done = this.#importing
    await Promise.race([done, delay(withinMs, undefined, { ref: false })])
    this.#closing.abort()
  }

  #grown({ name, sessionId, streamId, workspaceId }: RecordingFile, bytes: number): void {
    const room = this.#room(workspaceId, sessionId)
    room.note(name, bytes)
    room.ensure().then(
      (fits) => fits || this.#stop(workspaceId, streamId, sessionId),
      (error: unknown) => this.#options.log.warn({ error, streamId }, 'room for a recording could not be held'),
    )
  }

  #stop(workspaceId: string, streamId: string, sessionId: string): void {
    if (this.#stopped.has(sessionId)) return
    this.#stopped.add(sessionId)
    this.#options.log.warn({ streamId }, 'a recording has ended: no room in the plan')
    this.#turn(workspaceId, warnOfRecording, { streamId, code: 'recording_stopped', message: NO_ROOM })
    this.#options.refresh(streamId)
  }

  #refused({ kind, message, streamId }: Extract<MediaEvent, { type: 'recording.refused' }>): void {
    const session = this.#current.get(streamId)
    const workspaceId = session && this.#rooms.get(session)?.workspaceId
    const code = kind === 'video' ? 'recording_stopped' : 'recording_incomplete'
    if (workspaceId) this.#turn(workspaceId, warnOfRecording, { streamId, code, message })
  }

  #room(workspaceId: string, sessionId: string): RecordingRoom {
    let room = this.#rooms.get(sessionId)
    if (room === undefined) {
      room = new RecordingRoom(this.#options.quota, workspaceId, sessionId)
      this.#rooms.set(sessionId, room)
    }
    return room
  }

  /** One at a time: each is read and written as a whole. */
  #import(recording: RecordingFile): void {
    this.#importing = this.#importing.then(() => this.#untilImported(recording))
  }

  async #untilImported(recording: RecordingFile): Promise<void> {
    const { log } = this.#options
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#importOnce(recording)
        return
      } catch (error) {
        if (error instanceof AppError && error.status < 500 && error.code !== 'storage_full') {
          log.error({ error, file: recording.name }, 'a recording is no good for the media library; the file stays')
          const path = join(this.#options.folder, recording.name)
          await rename(path, `${path}.refused`).catch(() => {})
          this.#turn(recording.workspaceId, recordingLost, { recording, reason: error.message })
          return
        }
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#gone(recording)
        log.warn({ error, file: recording.name }, 'a recording could not be taken over; trying again')
        await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {})
      }
    }
  }

  /** Those that wait behind it are taken over all the same. */
  #gone(recording: RecordingFile): void {
    this.#options.log.error({ file: recording.name }, 'the file of a recording is gone')
    this.#room(recording.workspaceId, recording.sessionId).drop(recording.name)
    this.#turn(recording.workspaceId, recordingLost, { recording, reason: 'Its file is gone.' })
  }

  async #importOnce(recording: RecordingFile): Promise<void> {
    const { folder, intake, mend, turns } = this.#options
    const { name, sessionId, workspaceId } = recording
    const path = join(folder, name)
    const mended = await mend(path)
    const room = this.#room(workspaceId, sessionId)
    if (mended === undefined) {
      await turns.system(workspaceId, recordingLost, { recording, reason: 'It ended before anything was written.' })
    } else {
      room.note(name, mended.bytes)
      const file = await intake.receive(workspaceId, createReadStream(path), 'recording.mp4', Infinity)
      // The room is held for all files of the broadcast, and adjusted when this one counts as an asset.
      await turns.system(workspaceId, keepRecording, {
        recording,
        file,
        seconds: mended.seconds,
        reservationId: file.fileId,
      })
    }
    await rm(path, { force: true })
    room.drop(name)
    await this.#release(sessionId)
  }

  /** Gives back what was held, when the broadcast is over and all its files are assets; else what is too much. */
  async #release(sessionId: string): Promise<void> {
    const room = this.#rooms.get(sessionId)
    if (room === undefined || !room.isEmpty || [...this.#current.values()].includes(sessionId)) return
    this.#rooms.delete(sessionId)
    await room.release()
  }

  /** Tried again while the database is away. */
  #turn<I>(workspaceId: string, turn: SystemTurn<I, void>, input: I, tries = 30): void {
    this.#options.turns.system(workspaceId, turn, input).catch((error: unknown) => {
      this.#options.log.warn({ error, turn: turn.name }, 'what became of a recording could not be written')
      if (tries > 0) setTimeout(() => this.#turn(workspaceId, turn, input, tries - 1), SECOND).unref()
    })
  }
}
