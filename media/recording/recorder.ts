import type { Source, Output } from '../relay/source.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import { classify, headerPictureSize } from '../rtmp/flv.ts'
import type { DesiredRecording, MediaEvent, MediaLog, StreamStatus } from '../types.ts'
import { soundOf, AUDIO_HEADER_BYTES, VIDEO_HEADER_BYTES } from '../playout/payloads.ts'
import type { RecordedSample, RecordedTrack } from './fmp4.ts'
import { RecordingFile } from './recording-file.ts'

export interface RecorderOptions {
  readonly source: Source
  readonly onEvent: (event: MediaEvent) => void
  readonly log: MediaLog
}

/** A fragment is written this often: whoever kills the process takes no more than that with them. */
const FRAGMENT_MS = 500
const TELL_MS = 1_000

/** A sample whose duration shows when the next one comes. */
type Waiting = Omit<RecordedSample, 'duration'>

interface Track {
  readonly track: RecordedTrack
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
 * configuration changes. H.264 and AAC; pictures in another codec are not recorded.
 */
export class Recorder implements Output {
  readonly #options: RecorderOptions
  #streamId = ''
  #wish: DesiredRecording | undefined
  #part: Part | undefined
  #headers: Partial<Record<'video' | 'audio', Buffer>> = {}
  /** It could not be written: not tried again in the same broadcast. */
  #gaveUp: string | undefined
  #refused: string | undefined
  #toldAt = 0
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
    if (this.#part === undefined) return null
    const { bytes, durationMs } = this.#part.file
    return { bytes, seconds: durationMs / 1_000 }
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    this.#stop()
    await Promise.all(this.#ending)
  }

  #take(message: RelayMessage): void {
    const { isHeader, kind, payload } = message
    if (kind === 'data') return
    if (isHeader) return this.#takeHeader(kind, payload)
    const seen = classify(kind === 'video' ? 9 : 8, payload)
    // Enhanced RTMP lays its bodies out differently: it is not what the headers are of.
    const isTaken = seen.codec === (kind === 'video' ? 'h264' : 'aac') && (kind === 'audio' || payload[0]! < 0x80)
    if (seen.isFrame && !isTaken && kind === 'video') this.#refuse(seen.codec)
    if (!seen.isFrame || !isTaken) return
    if (kind === 'video' && seen.isKeyframe) this.#atKeyframe(message)
    const part = this.#part
    const track = kind === 'video' ? part?.video : part?.audio
    if (part !== undefined && track !== undefined) this.#add(part, track, message, seen.isKeyframe)
  }

  /** Said once in a broadcast. */
  #refuse(codec: string | null): void {
    const sessionId = this.#wish?.sessionId
    if (sessionId === undefined || this.#refused === sessionId) return
    this.#refused = sessionId
    const message = `Only H.264 is recorded; what comes in is ${codec ?? 'in another codec'}.`
    this.#tell({ type: 'recording.refused', streamId: this.#streamId, message })
  }

  #takeHeader(kind: 'video' | 'audio', payload: Buffer): void {
    if (this.#headers[kind]?.equals(payload)) return
    this.#headers[kind] = payload
    // What comes is coded differently: it goes into another file, from its first keyframe on.
    this.#endPart()
  }

  #atKeyframe({ timestamp }: RelayMessage): void {
    const wish = this.#wish
    if (wish === undefined) return
    if (this.#part !== undefined && timestamp - this.#part.base < wish.splitMs) return
    this.#endPart()
    this.#part = this.#begin(wish, timestamp)
  }

  #begin({ prefix }: DesiredRecording, base: number): Part | undefined {
    const { audio, video } = this.#headers
    if (video === undefined) return undefined
    const size = headerPictureSize(video, 'h264')
    if (size === null || video[0] !== 0x17) return undefined
    const sound = audio?.subarray(AUDIO_HEADER_BYTES) ?? Buffer.alloc(0)
    const { audiochannels: channels, audiosamplerate: sampleRate } = soundOf(sound)
    const config = video.subarray(VIDEO_HEADER_BYTES)
    const tracks: RecordedTrack[] = [{ id: 1, kind: 'video', config, ...size, channels: 0, sampleRate: 0 }]
    if (audio !== undefined && sound.length >= 2 && audio[0]! >> 4 === 10) {
      tracks.push({ id: 2, kind: 'audio', config: sound, width: 0, height: 0, channels, sampleRate })
    }
    const name = `${prefix}.${new Date().getTime()}.mp4`
    const [picture, tone] = tracks.map((track): Track => ({ track, samples: [], waiting: undefined }))
    const part = {
      name,
      file: new RecordingFile(name, tracks),
      base,
      video: picture!,
      audio: tone,
      fragmentStart: base,
    }
    this.#tell({ type: 'recording.started', ...this.#named(part) })
    return part
  }

  #add(part: Part, track: Track, { kind, payload, timestamp }: RelayMessage, isKeyframe: boolean): void {
    const decodeTime = Math.max(0, timestamp - part.base)
    const isVideo = kind === 'video'
    settle(track, decodeTime)
    track.waiting = {
      decodeTime,
      composition: isVideo ? payload.readIntBE(2, 3) : 0,
      isKeyframe: !isVideo || isKeyframe,
      data: payload.subarray(isVideo ? VIDEO_HEADER_BYTES : AUDIO_HEADER_BYTES),
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
  if (code === 'ENOSPC') return 'The disk is full.'
  return code === undefined ? error.message : `The recording cannot be written (${code}).`
}
