import type { Source, Output } from '../relay/source.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import { codedBody } from '../rtmp/coded-body.ts'
import { AUDIO, classify, VIDEO, type Classification } from '../rtmp/flv.ts'
import type { DesiredRecording, MediaEvent, MediaLog, StreamStatus } from '../types.ts'
import { isRecorded, pictureTrack, RECORDED, soundTrack } from './recorded-tracks.ts'
import { RecordingPart, type PartTrack } from './recording-part.ts'
import { slateParameterSets } from './slate-fit.ts'

export interface RecorderOptions {
  readonly source: Source
  readonly onEvent: (event: MediaEvent) => void
  readonly log: MediaLog
}

const TELL_MS = 1_000
/**
 * The first pictures wait this long for sound, which browsers send later because it is encoded again, and the first
 * sound for pictures. Then the recording begins without.
 */
const PATIENCE_MS = 3_000
const MOST_HELD_BYTES = 16 * 1024 * 1024

type Kind = 'video' | 'audio'

/** What a track is coded with, as its publisher last said. */
interface Header {
  readonly codec: string | null
  /** The message. */
  readonly payload: Buffer
}

/** Messages of one kind that wait for the other kind. Pictures begin with a keyframe. */
interface Held {
  readonly kind: Kind
  readonly messages: RelayMessage[]
  readonly since: number
  bytes: number
}

/**
 * Writes what a stream relays into files: from a keyframe on, split at a keyframe when one is long enough or when a
 * configuration changes. Media in a codec that is not recorded is reported; without its sound the rest is recorded. An
 * audio-only stream becomes an audio file. {@link DesiredRecording.gaps} says whether an outage is cut out or the slate
 * is recorded.
 */
export class Recorder implements Output {
  readonly #options: RecorderOptions
  #streamId = ''
  #wish: DesiredRecording | undefined
  #part: RecordingPart | undefined
  #held: Held | undefined
  #headers: Partial<Record<Kind, Header>> = {}
  /** Configurations of the slate that is shown, where they differ from the publisher's. */
  #slateHeaders: Partial<Record<Kind, Buffer>> = {}
  /** In front of the slate's keyframes; undefined while no slate is recorded. */
  #slateSets: Buffer | undefined
  /** It could not be written: not tried again in the same broadcast. */
  #gaveUp: string | undefined
  /** By kind: why it is not recorded. Each is said once in a broadcast. */
  readonly #refusals = new Map<Kind, string>()
  /** No sound came with the first pictures: it is not waited for again. */
  #isSilent = false
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
    this.#isSilent = false
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
    if (kind === 'data') return
    const seen = classify(kind === 'video' ? VIDEO : AUDIO, payload)
    if (isSlate) return this.#takeSlate(message, seen)
    if (seen.isHeader) return this.#takeHeader(kind, { codec: seen.codec, payload })
    if (!seen.isFrame) return
    if (!isRecorded(kind, seen.codec)) {
      const what = kind === 'video' ? 'the picture' : 'the sound'
      if (kind === 'audio') this.#stopWaiting()
      return this.#refuse(kind, `${RECORDED[kind]} are recorded; ${what} is ${seen.codec ?? 'in another codec'}.`)
    }
    if (this.#holds(message, seen)) return
    this.#record(message, seen)
  }

  /** Records the slate where it continues the file that is being written. It never begins a recording. */
  #takeSlate(message: RelayMessage, seen: Classification): void {
    const { kind, payload } = message
    if (kind === 'data') return
    if (seen.isHeader) {
      this.#slateHeaders[kind] = payload
      return
    }
    const part = this.#part
    if (!seen.isFrame || part?.gaps !== 'slate') return
    if (seen.isKeyframe && kind === 'video') this.#slateSets = slateParameterSets(this.#slateHeaders, this.#headers)
    if (this.#slateSets !== undefined) this.#record(message, seen)
  }

  #record(message: RelayMessage, seen: Classification): void {
    const { isSlate, kind } = message
    if (kind === 'data') return
    if (kind === 'video' && seen.isKeyframe) this.#atKeyframe(message)
    else if (this.#part?.isSound && kind === 'audio') this.#splitSound(message)
    this.#part?.add(kind, message, seen, isSlate ? this.#slateSets : undefined)
  }

  /** Keeps the first media back while only one kind is known, for a while. @returns whether it has kept this message */
  #holds(message: RelayMessage, { isKeyframe }: Classification): boolean {
    const { kind, payload, timestamp } = message
    if (this.#part !== undefined || kind === 'data' || this.#headers[kind === 'video' ? 'audio' : 'video']) return false
    if (kind === 'video' && this.#held?.kind === 'audio') this.#held = undefined
    if (this.#held === undefined) {
      const isWaitedFor = kind === 'video' ? isKeyframe && !this.#isSilent : !this.#refusals.has('video')
      if (!isWaitedFor || this.#trackFrom(kind, payload) === undefined) return false
      this.#held = { kind, messages: [], since: timestamp, bytes: 0 }
    }
    const held = this.#held
    if (held.kind !== kind) return false
    held.messages.push(message)
    held.bytes += payload.length
    if (timestamp - held.since >= PATIENCE_MS || held.bytes > MOST_HELD_BYTES) this.#stopWaiting()
    return true
  }

  /** The other kind does not come, or cannot be recorded. */
  #stopWaiting(): void {
    if (this.#held?.kind !== 'audio') this.#isSilent = true
    this.#release()
  }

  /** Records what was held: the other kind is known now, or is not waited for any longer. */
  #release(): void {
    const held = this.#held
    this.#held = undefined
    const [first] = held?.messages ?? []
    if (held?.kind === 'audio' && first !== undefined) this.#beginWith(first)
    for (const message of held?.messages ?? [])
      this.#record(message, classify(held?.kind === 'audio' ? AUDIO : VIDEO, message.payload))
  }

  #refuse(kind: Kind, message: string): void {
    if (this.#refusals.has(kind)) return
    this.#refusals.set(kind, message)
    this.#tell({ type: 'recording.refused', streamId: this.#streamId, kind, message })
  }

  #takeHeader(kind: Kind, header: Header): void {
    delete this.#slateHeaders[kind]
    if (this.#headers[kind]?.payload.equals(header.payload)) return
    // The held frames use the earlier configuration.
    if (this.#held?.kind === kind) this.#release()
    // A recording with pictures begins with one: the sound before it is left out.
    else if (kind === 'video') this.#held = undefined
    this.#headers[kind] = header
    this.#refusals.delete(kind)
    // What follows is coded differently: it goes into another file, from its first keyframe on.
    this.#endPart()
    if (kind === 'audio') this.#release()
  }

  #atKeyframe(keyframe: RelayMessage): void {
    const wish = this.#wish
    const part = this.#part
    if (wish === undefined) return
    // A change of the setting takes effect in the next file.
    const isChanged = part?.gaps !== gapsOf(wish) && !keyframe.isSlate
    if (part !== undefined && part.lengthAt(keyframe.timestamp) < wish.splitMs && !isChanged) return
    this.#beginWith(keyframe)
  }

  /** Every frame of sound can begin a file. */
  #splitSound(message: RelayMessage): void {
    if (this.#part!.lengthAt(message.timestamp) >= (this.#wish?.splitMs ?? Infinity)) this.#beginWith(message)
  }

  /** Ends the file under way and begins the next one with a message: a keyframe, or sound where there are no pictures. */
  #beginWith(message: RelayMessage): void {
    this.#endPart()
    if (this.#wish !== undefined) this.#part = this.#begin(this.#wish, message)
  }

  #begin(wish: DesiredRecording, { kind, payload, timestamp: base }: RelayMessage): RecordingPart | undefined {
    const gaps = gapsOf(wish)
    const video = kind === 'video' ? this.#trackFrom('video', payload, gaps) : undefined
    if (kind === 'video' && video === undefined) return undefined
    const audio = this.#trackFrom('audio', payload)
    const [first, ...more] = [video, audio].filter((track) => track !== undefined)
    if (first === undefined) return undefined
    // Two files can begin within a millisecond, by which they are named.
    this.#begunAt = Math.max(new Date().getTime(), this.#begunAt + 1)
    const path = `${wish.prefix}.${this.#begunAt}.mp4`
    const part = new RecordingPart({ path, tracks: [first, ...more], base, gaps })
    this.#tell({ type: 'recording.started', ...this.#named(part) })
    return part
  }

  /**
   * A track, from the configuration that was sent; undefined when there is none, or none that can be read.
   * @param keyframe the body of a message; not read for sound
   */
  #trackFrom(kind: Kind, keyframe: Buffer, gaps: RecordingPart['gaps'] = 'cut'): PartTrack | undefined {
    const header = this.#headers[kind]
    if (header !== undefined && !isRecorded(kind, header.codec)) return undefined
    const { codec, payload } = header ?? {}
    if (codec && payload) {
      const config = codedBody(kind, payload).data
      const track =
        kind === 'audio'
          ? soundTrack(codec, config)
          : pictureTrack(codec, config, codedBody('video', keyframe).data, gaps === 'slate')
      if (track) return { codec, track }
    }
    const what = kind === 'video' ? 'The picture' : 'The sound'
    // Sound may come later, or never.
    if (kind === 'video' || header !== undefined) {
      this.#refuse(kind, `${what} cannot be recorded: its configuration is ${header ? 'damaged' : 'missing'}.`)
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
    this.#release()
    this.#endPart(error)
    this.#wish = undefined
    this.#headers = {}
    this.#slateHeaders = {}
    this.#slateSets = undefined
  }

  #named({ file }: RecordingPart) {
    return { streamId: this.#streamId, path: file.path }
  }

  #tell(event: MediaEvent): void {
    this.#options.onEvent(event)
  }
}

function gapsOf({ gaps = 'cut' }: DesiredRecording): 'cut' | 'slate' {
  return gaps
}

/** In words, without paths. */
function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full.'
  return code === undefined ? error.message : `The recording cannot be written (${code}).`
}
