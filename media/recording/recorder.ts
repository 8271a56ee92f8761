import type { Source, Output } from '../relay/source.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import { codedBody } from '../rtmp/coded-body.ts'
import { AUDIO, classify, VIDEO, type Classification } from '../rtmp/flv.ts'
import type { DesiredRecording, MediaEvent, MediaLog, StreamStatus } from '../types.ts'
import type { RecordedSample, RecordedTrack } from './fmp4.ts'
import { isRecorded, pictureTrack, RECORDED, sampleOf, soundTrack } from './recorded-tracks.ts'
import { RecordingFile } from './recording-file.ts'

export interface RecorderOptions {
  readonly source: Source
  readonly onEvent: (event: MediaEvent) => void
  readonly log: MediaLog
}

/** A fragment is written this often: whoever kills the process takes no more than that with them. */
const FRAGMENT_MS = 500
const TELL_MS = 1_000
const MOST_SOUND_ALONE_MS = 10_000

/** What a track is coded with, as its publisher last said. */
interface Header {
  readonly codec: string | null
  /** The message. */
  readonly payload: Buffer
}

/** A sample whose duration shows when the next one comes. */
type Waiting = Omit<RecordedSample, 'duration'>

interface Track {
  readonly track: RecordedTrack
  readonly codec: string
  readonly samples: RecordedSample[]
  waiting: Waiting | undefined
}

interface Part {
  readonly name: string
  readonly file: RecordingFile
  /** Where the file begins on the source's line. */
  readonly base: number
  readonly video: Track
  readonly audio: Track | undefined
  fragmentStart: number
}

/**
 * Writes what a stream relays into files: from a keyframe on, cut at a keyframe when one is long enough or when a
 * configuration changes. What is coded in a way that is not recorded is said; without its sound the rest is recorded.
 * The slate is left out.
 */
export class Recorder implements Output {
  readonly #options: RecorderOptions
  #streamId = ''
  #wish: DesiredRecording | undefined
  #part: Part | undefined
  #headers: Partial<Record<'video' | 'audio', Header>> = {}
  /** It could not be written: not tried again in the same broadcast. */
  #gaveUp: string | undefined
  /** By kind: why it is not recorded. Each is said once in a broadcast. */
  readonly #refusals = new Map<'video' | 'audio', string>()
  /** Where sound began, on the source's line. */
  #soundSince: number | undefined
  #toldAt = 0
  #begunAt = 0
  readonly #ending = new Set<Promise<void>>()

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** Records, or stops to. */
  apply(streamId: string, wish: DesiredRecording | undefined): void {
    this.#streamId = streamId
    const before = this.#wish
    if (before?.sessionId === wish?.sessionId) {
      this.#wish = wish
      return
    }
    if (before !== undefined) this.#stop()
    if (wish === undefined || wish.sessionId === this.#gaveUp) return
    this.#wish = wish
    this.#refusals.clear()
    this.#soundSince = undefined
    // The group under way belongs to it: what goes out first is recorded too.
    for (const message of this.#options.source.replay(Infinity).messages) this.#take(message)
    this.#options.source.add(this)
  }

  write(batch: RelayBatch): void {
    for (const message of batch.messages) this.#take(message)
    if (this.#part?.file.failure !== undefined) this.#giveUp(this.#part.file.failure)
  }

  /** Tells how much there is, about once a second. */
  tick(now: number): void {
    const part = this.#part
    if (part === undefined || now - this.#toldAt < TELL_MS) return
    this.#toldAt = now
    if (part.file.failure !== undefined) return this.#giveUp(part.file.failure)
    const { bytes } = part.file
    this.#tell({ type: 'recording.progress', ...this.#named(part), bytes })
  }

  status(): StreamStatus['recording'] {
    if (this.#wish === undefined) return null
    const { bytes, durationMs } = this.#part?.file ?? { bytes: 0, durationMs: 0 }
    return { bytes, seconds: durationMs / 1_000, refused: [...this.#refusals.values()].join(' ') || null }
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    this.#stop()
    await Promise.all(this.#ending)
  }

  #take(message: RelayMessage): void {
    const { isSlate, kind, payload } = message
    if (kind === 'data' || isSlate) return
    const seen = classify(kind === 'video' ? VIDEO : AUDIO, payload)
    if (seen.isHeader) return this.#takeHeader(kind, { codec: seen.codec, payload })
    if (!seen.isFrame) return
    if (!isRecorded(kind, seen.codec)) {
      const what = kind === 'video' ? 'the picture' : 'the sound'
      return this.#refuse(kind, `${RECORDED[kind]} are recorded; ${what} is ${seen.codec ?? 'in another codec'}.`)
    }
    if (kind === 'video' && seen.isKeyframe) this.#atKeyframe(message)
    if (kind === 'audio' && this.#part === undefined) this.#atSoundAlone(message)
    const part = this.#part
    const track = kind === 'video' ? part?.video : part?.audio
    if (part !== undefined && track?.codec === seen.codec) this.#add(part, track, message, seen)
  }

  #refuse(kind: 'video' | 'audio', message: string): void {
    if (this.#refusals.has(kind)) return
    this.#refusals.set(kind, message)
    this.#tell({ type: 'recording.refused', streamId: this.#streamId, kind, message })
  }

  #takeHeader(kind: 'video' | 'audio', header: Header): void {
    if (this.#headers[kind]?.payload.equals(header.payload)) return
    this.#headers[kind] = header
    this.#refusals.delete(kind)
    // What comes is coded differently: it goes into another file, from its first keyframe on.
    this.#endPart()
  }

  #atKeyframe(keyframe: RelayMessage): void {
    const wish = this.#wish
    if (wish === undefined) return
    if (this.#part !== undefined && keyframe.timestamp - this.#part.base < wish.splitMs) return
    this.#endPart()
    this.#part = this.#begin(wish, keyframe)
  }

  /** A recording begins with a picture: that none comes is said, not waited for in silence. */
  #atSoundAlone({ timestamp }: RelayMessage): void {
    this.#soundSince ??= timestamp
    if (this.#headers.video !== undefined || timestamp - this.#soundSince < MOST_SOUND_ALONE_MS) return
    this.#refuse('video', 'Nothing is recorded: sound comes in, and no picture.')
  }

  #begin({ prefix }: DesiredRecording, { payload, timestamp: base }: RelayMessage): Part | undefined {
    const video = this.#trackOf('video', (codec, config) =>
      pictureTrack(codec, config, codedBody('video', payload).data),
    )
    if (video === undefined) return undefined
    // Two files can begin within a millisecond, by which they are named.
    this.#begunAt = Math.max(new Date().getTime(), this.#begunAt + 1)
    const name = `${prefix}.${this.#begunAt}.mp4`
    const audio = this.#trackOf('audio', soundTrack)
    const tracks = audio === undefined ? [video.track] : [video.track, audio.track]
    const part = { name, file: new RecordingFile(name, tracks), base, video, audio, fragmentStart: base }
    this.#tell({ type: 'recording.started', ...this.#named(part) })
    return part
  }

  /** A track, from the configuration that was sent; undefined when there is none, or none that can be read. */
  #trackOf(
    kind: 'video' | 'audio',
    build: (codec: string, config: Buffer) => RecordedTrack | undefined,
  ): Track | undefined {
    const header = this.#headers[kind]
    if (header !== undefined && !isRecorded(kind, header.codec)) return undefined
    const { codec, payload } = header ?? {}
    const track = codec && payload && build(codec, codedBody(kind, payload).data)
    if (codec && track) return { codec, track, samples: [], waiting: undefined }
    const what = kind === 'video' ? 'The picture' : 'The sound'
    // Sound may come later, or never.
    if (kind === 'video' || header !== undefined) {
      this.#refuse(kind, `${what} cannot be recorded: its configuration is ${header ? 'damaged' : 'missing'}.`)
    }
    return undefined
  }

  #add(part: Part, track: Track, { kind, payload, timestamp }: RelayMessage, { isKeyframe }: Classification): void {
    const decodeTime = Math.max(0, timestamp - part.base)
    const isVideo = kind === 'video'
    const { composition, data } = codedBody(isVideo ? 'video' : 'audio', payload)
    settle(track, decodeTime)
    track.waiting = {
      decodeTime,
      composition,
      isKeyframe: !isVideo || isKeyframe,
      data: sampleOf(track.codec, data),
    }
    if (timestamp - part.fragmentStart >= FRAGMENT_MS) this.#flush(part, timestamp)
  }

  #flush(part: Part, timestamp: number): void {
    part.fragmentStart = timestamp
    const tracks = part.audio === undefined ? [part.video] : [part.video, part.audio]
    part.file.add(tracks.map(({ samples, track }) => ({ track, samples: samples.splice(0) })))
  }

  #endPart(cause: Error | null = null): void {
    const part = this.#part
    if (part === undefined) return
    this.#part = undefined
    for (const track of [part.video, part.audio]) {
      // The last one is shown as long as the one before it.
      if (track?.waiting) settle(track, track.waiting.decodeTime + (track.samples.at(-1)?.duration ?? 33))
    }
    this.#flush(part, part.base)
    const ending = this.#finish(part, cause).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  async #finish(part: Part, cause: Error | null): Promise<void> {
    await part.file.end()
    const failure = cause ?? part.file.failure ?? null
    if (failure !== null)
      this.#options.log.error({ error: failure, streamId: this.#streamId }, 'a recording has failed')
    this.#tell({ type: 'recording.ended', ...this.#named(part), failure: failure && reasonOf(failure) })
  }

  #giveUp(error: Error): void {
    this.#gaveUp = this.#wish?.sessionId
    this.#stop(error)
  }

  #stop(error: Error | null = null): void {
    this.#options.source.remove(this)
    this.#endPart(error)
    this.#wish = undefined
    this.#headers = {}
  }

  #named({ name }: Part) {
    return { streamId: this.#streamId, path: name }
  }

  #tell(event: MediaEvent): void {
    this.#options.onEvent(event)
  }
}

/** Gives the sample that waits its duration. */
function settle(track: Track, next: number): void {
  const { waiting } = track
  if (waiting === undefined) return
  track.samples.push({ ...waiting, duration: Math.max(0, next - waiting.decodeTime) })
  track.waiting = undefined
}

/** In words, without paths. */
function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full.'
  return code === undefined ? error.message : `The recording cannot be written (${code}).`
}
