import type { Source, Output } from '../relay/source.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import { readTagBody } from '../rtmp/tag-body.ts'
import { AUDIO, classify, VIDEO, type Classification } from '../rtmp/flv.ts'
import type { DesiredRecording, MediaEvent, MediaLog, StreamStatus } from '../types.ts'
import { audioTrack, isRecordable, RECORDABLE_CODECS, videoTrack } from './recorded-tracks.ts'
import { RecordingPart, type PartTrack } from './recording-part.ts'
import { slateParameterSets } from './slate-parameter-sets.ts'

export interface RecorderOptions {
  readonly source: Source
  readonly onEvent: (event: MediaEvent) => void
  readonly log: MediaLog
}

/** How often the progress is reported. */
const REPORT_MS = 1_000
/**
 * The first frames of one track are kept this long until the other track starts. Audio of browsers starts later, because it
 * is transcoded. After this time the recording starts with one track.
 */
const MAX_WAIT_MS = 3_000
const MAX_PENDING_BYTES = 16 * 1024 * 1024

type Kind = 'video' | 'audio'

/** The last sequence header of a track. */
interface Header {
  readonly codec: string | null
  /** Body of the message. */
  readonly payload: Buffer
}

/** Frames of one track that are kept until the other track starts. Video starts with a keyframe. */
interface Pending {
  readonly kind: Kind
  readonly messages: RelayMessage[]
  readonly since: number
  bytes: number
}

/**
 * Records a stream. A file starts with a keyframe. A new one starts at a keyframe after the split time, or when a sequence
 * header changes. A codec that cannot be recorded is reported; video is then recorded without audio. A stream without video
 * becomes an audio file. {@link DesiredRecording.gaps} selects whether outages are cut out or the slate is recorded.
 */
export class Recorder implements Output {
  readonly #options: RecorderOptions
  #streamId = ''
  #desired: DesiredRecording | undefined
  #part: RecordingPart | undefined
  #pending: Pending | undefined
  #headers: Partial<Record<Kind, Header>> = {}
  /** Sequence headers of the current slate that differ from the publisher's. */
  #slateHeaders: Partial<Record<Kind, Buffer>> = {}
  /** Parameter sets for the slate's keyframes; undefined while no slate is recorded. */
  #slateParameterSets: Buffer | undefined
  /** The session whose recording failed. It is not tried again. */
  #failedSessionId: string | undefined
  /** Why a track is not recorded. Reported once per session. */
  readonly #refusals = new Map<Kind, string>()
  /** The first video had no audio, so later video does not wait for it. */
  #hasNoAudio = false
  #reportedAt = 0
  #lastFileTime = 0
  readonly #ending = new Set<Promise<void>>()

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** Starts or stops recording according to the desired state. */
  apply(streamId: string, desired: DesiredRecording | undefined): void {
    this.#streamId = streamId
    const before = this.#desired
    if (before?.sessionId === desired?.sessionId) {
      this.#desired = desired
      return
    }
    if (before !== undefined) this.#stop()
    if (desired === undefined || desired.sessionId === this.#failedSessionId) return
    this.#desired = desired
    this.#refusals.clear()
    this.#hasNoAudio = false
    // The recording starts with the current GOP, like the destinations.
    for (const message of this.#options.source.replay(Infinity).messages) this.#handle(message)
    this.#options.source.add(this)
  }

  write(batch: RelayBatch): void {
    for (const message of batch.messages) this.#handle(message)
    if (this.#part?.file.failure !== undefined) this.#fail(this.#part.file.failure)
  }

  /** Reports the progress about once a second. */
  tick(now: number): void {
    const part = this.#part
    if (part === undefined || now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    if (part.file.failure !== undefined) return this.#fail(part.file.failure)
    const { bytes } = part.file
    this.#emit({ type: 'recording.progress', ...this.#ids(part), bytes })
  }

  status(): StreamStatus['recording'] {
    if (this.#desired === undefined) return null
    const { bytes, durationMs } = this.#part?.file ?? { bytes: 0, durationMs: 0 }
    return { bytes, seconds: durationMs / 1_000, refused: [...this.#refusals.values()].join(' ') || null }
  }

  /** Stops recording. Resolves when all files are complete. */
  async close(): Promise<void> {
    this.#stop()
    await Promise.all(this.#ending)
  }

  #handle(message: RelayMessage): void {
    const { isSlate, kind, payload } = message
    if (kind === 'data') return
    const classified = classify(kind === 'video' ? VIDEO : AUDIO, payload)
    if (isSlate) return this.#handleSlate(message, classified)
    if (classified.isSequenceHeader) return this.#handleHeader(kind, { codec: classified.codec, payload })
    if (!classified.isFrame) return
    if (!isRecordable(kind, classified.codec)) {
      if (kind === 'audio') this.#stopWaiting()
      const codec = classified.codec ?? 'in an unknown codec'
      return this.#refuse(kind, `The ${kind} is ${codec}. Only ${RECORDABLE_CODECS[kind]} can be recorded.`)
    }
    if (this.#keepPending(message, classified)) return
    this.#record(message, classified)
  }

  /** Records the slate if it can continue the current file. It never starts a file. */
  #handleSlate(message: RelayMessage, classified: Classification): void {
    const { kind, payload } = message
    if (kind === 'data') return
    if (classified.isSequenceHeader) {
      this.#slateHeaders[kind] = payload
      return
    }
    const part = this.#part
    if (!classified.isFrame || part?.gaps !== 'slate') return
    if (classified.isKeyframe && kind === 'video') {
      this.#slateParameterSets = slateParameterSets(this.#slateHeaders, this.#headers)
    }
    if (this.#slateParameterSets !== undefined) this.#record(message, classified)
  }

  #record(message: RelayMessage, classified: Classification): void {
    const { isSlate, kind } = message
    if (kind === 'data') return
    if (kind === 'video' && classified.isKeyframe) this.#splitAtKeyframe(message)
    else if (this.#part?.isAudioOnly && kind === 'audio') this.#splitAudio(message)
    this.#part?.add(kind, message, classified, isSlate ? this.#slateParameterSets : undefined)
  }

  /** Keeps a frame while only one track is known, for a limited time. @returns whether it was kept */
  #keepPending(message: RelayMessage, { isKeyframe }: Classification): boolean {
    const { kind, payload, timestamp } = message
    if (this.#part !== undefined || kind === 'data' || this.#headers[kind === 'video' ? 'audio' : 'video']) return false
    if (kind === 'video' && this.#pending?.kind === 'audio') this.#pending = undefined
    if (this.#pending === undefined) {
      const waits = kind === 'video' ? isKeyframe && !this.#hasNoAudio : !this.#refusals.has('video')
      if (!waits || this.#trackFrom(kind, payload) === undefined) return false
      this.#pending = { kind, messages: [], since: timestamp, bytes: 0 }
    }
    const pending = this.#pending
    if (pending.kind !== kind) return false
    pending.messages.push(message)
    pending.bytes += payload.length
    if (timestamp - pending.since >= MAX_WAIT_MS || pending.bytes > MAX_PENDING_BYTES) this.#stopWaiting()
    return true
  }

  /** The other track does not start, or cannot be recorded. */
  #stopWaiting(): void {
    if (this.#pending?.kind !== 'audio') this.#hasNoAudio = true
    this.#recordPending()
  }

  #recordPending(): void {
    const pending = this.#pending
    this.#pending = undefined
    const [first] = pending?.messages ?? []
    if (pending?.kind === 'audio' && first !== undefined) this.#startFile(first)
    for (const message of pending?.messages ?? [])
      this.#record(message, classify(pending?.kind === 'audio' ? AUDIO : VIDEO, message.payload))
  }

  #refuse(kind: Kind, message: string): void {
    if (this.#refusals.has(kind)) return
    this.#refusals.set(kind, message)
    this.#emit({ type: 'recording.refused', streamId: this.#streamId, kind, message })
  }

  #handleHeader(kind: Kind, header: Header): void {
    delete this.#slateHeaders[kind]
    if (this.#headers[kind]?.payload.equals(header.payload)) return
    // The pending frames need the previous sequence header.
    if (this.#pending?.kind === kind) this.#recordPending()
    // A recording with video starts with a keyframe, without the audio before it.
    else if (kind === 'video') this.#pending = undefined
    this.#headers[kind] = header
    this.#refusals.delete(kind)
    // The next keyframe starts a new file.
    this.#endPart()
    if (kind === 'audio') this.#recordPending()
  }

  /** Starts a new file with a keyframe if there is none, the split time is reached, or `gaps` has changed. */
  #splitAtKeyframe(keyframe: RelayMessage): void {
    const desired = this.#desired
    const part = this.#part
    if (desired === undefined) return
    const isChanged = part?.gaps !== gapsOf(desired) && !keyframe.isSlate
    if (part !== undefined && part.lengthAt(keyframe.timestamp) < desired.splitMs && !isChanged) return
    this.#startFile(keyframe)
  }

  /** An audio file can start with any frame. */
  #splitAudio(message: RelayMessage): void {
    if (this.#part!.lengthAt(message.timestamp) >= (this.#desired?.splitMs ?? Infinity)) this.#startFile(message)
  }

  /** Ends the current file and starts the next one with a keyframe, or with an audio frame if there is no video. */
  #startFile(message: RelayMessage): void {
    this.#endPart()
    if (this.#desired !== undefined) this.#part = this.#newPart(this.#desired, message)
  }

  #newPart(desired: DesiredRecording, { kind, payload, timestamp: base }: RelayMessage): RecordingPart | undefined {
    const gaps = gapsOf(desired)
    const video = kind === 'video' ? this.#trackFrom('video', payload, gaps) : undefined
    if (kind === 'video' && video === undefined) return undefined
    const audio = this.#trackFrom('audio', payload)
    const [first, ...more] = [video, audio].filter((track) => track !== undefined)
    if (first === undefined) return undefined
    // Files are named by milliseconds, and two can start within one.
    this.#lastFileTime = Math.max(new Date().getTime(), this.#lastFileTime + 1)
    const path = `${desired.prefix}.${this.#lastFileTime}.mp4`
    const part = new RecordingPart({ path, tracks: [first, ...more], base, gaps })
    this.#emit({ type: 'recording.started', ...this.#ids(part) })
    return part
  }

  /**
   * Makes a track from its sequence header; undefined when that is missing or damaged.
   *
   * @param keyframe body of the message with the keyframe; not used for audio
   */
  #trackFrom(kind: Kind, keyframe: Buffer, gaps: RecordingPart['gaps'] = 'cut'): PartTrack | undefined {
    const header = this.#headers[kind]
    if (header !== undefined && !isRecordable(kind, header.codec)) return undefined
    const { codec, payload } = header ?? {}
    if (codec && payload) {
      const config = readTagBody(kind, payload).data
      const track =
        kind === 'audio'
          ? audioTrack(codec, config)
          : videoTrack(codec, config, readTagBody('video', keyframe).data, gaps === 'slate')
      if (track) return { codec, track }
    }
    // A missing audio sequence header is no error: audio may start later or never.
    if (kind === 'video' || header !== undefined) {
      this.#refuse(kind, `The ${kind} cannot be recorded: its sequence header is ${header ? 'damaged' : 'missing'}.`)
    }
    return undefined
  }

  #endPart(cause: Error | null = null): void {
    const part = this.#part
    if (part === undefined) return
    this.#part = undefined
    part.flush()
    const ending = this.#finish(part, cause).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  async #finish(part: RecordingPart, cause: Error | null): Promise<void> {
    await part.file.end()
    const failure = cause ?? part.file.failure ?? null
    if (failure !== null) this.#options.log.error({ error: failure, streamId: this.#streamId }, 'recording failed')
    this.#emit({ type: 'recording.ended', ...this.#ids(part), failure: failure && reasonOf(failure) })
  }

  #fail(error: Error): void {
    this.#failedSessionId = this.#desired?.sessionId
    this.#stop(error)
  }

  #stop(error: Error | null = null): void {
    this.#options.source.remove(this)
    this.#recordPending()
    this.#endPart(error)
    this.#desired = undefined
    this.#headers = {}
    this.#slateHeaders = {}
    this.#slateParameterSets = undefined
  }

  #ids({ file }: RecordingPart) {
    return { streamId: this.#streamId, path: file.path }
  }

  #emit(event: MediaEvent): void {
    this.#options.onEvent(event)
  }
}

function gapsOf({ gaps = 'cut' }: DesiredRecording): 'cut' | 'slate' {
  return gaps
}

/** The reason for the user. Messages of file system errors are not used, because they contain paths. */
function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full.'
  return code === undefined ? error.message : `The recording cannot be written (${code}).`
}
