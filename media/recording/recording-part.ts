import type { RelayMessage } from '../relay/relay-message.ts'
import { codedBody } from '../rtmp/coded-body.ts'
import type { Classification } from '../rtmp/flv.ts'
import type { DesiredRecording } from '../types.ts'
import type { RecordedSample, RecordedTrack } from './fmp4.ts'
import { sampleOf } from './recorded-tracks.ts'
import { RecordingFile } from './recording-file.ts'

/** A track of a file, and the codec of its samples as `classify` names it. */
export interface PartTrack {
  readonly codec: string
  readonly track: RecordedTrack
}

export interface RecordingPartOptions {
  readonly path: string
  /** Pictures first, if there are any. */
  readonly tracks: readonly [PartTrack, ...PartTrack[]]
  /** Where the file begins on the source's timeline, milliseconds. */
  readonly base: number
  readonly gaps: NonNullable<DesiredRecording['gaps']>
}

/** A fragment is written this often: a process that is killed loses no more than that. */
const FRAGMENT_MS = 500
/** No media for longer than this is an outage, which is cut out. Video frames alone may be further apart. */
const OUTAGE_MS = { withSound: 1_000, silent: 5_000 } as const
/** What an outage leaves between the last sample before it and the first one after it. */
const SEAM_MS = 33
/** Pictures are shown this much later than they are decoded, at most; encoders that claim more are not believed. */
const MOST_REORDER_MS = 1_000

/** A track with the sample whose duration shows when the next one comes. */
interface Writing extends PartTrack {
  readonly samples: RecordedSample[]
  waiting: Omit<RecordedSample, 'duration'> | undefined
}

/** One file of a recording: places messages on the file's own timeline, without outages, and groups them to fragments. */
export class RecordingPart {
  readonly file: RecordingFile
  /** How this file treats an outage. */
  readonly gaps: RecordingPartOptions['gaps']
  readonly #tracks: readonly Writing[]
  /** Position 0 of the file on the source's timeline; moved on by the outages that were cut out. */
  #base: number
  /** Where the latest sample is shown, on the source's timeline. */
  #latest: number
  #fragmentStart: number

  constructor({ base, gaps, path, tracks }: RecordingPartOptions) {
    this.file = new RecordingFile(
      path,
      tracks.map(({ track }) => track),
    )
    this.gaps = gaps
    this.#tracks = tracks.map((track) => ({ ...track, samples: [], waiting: undefined }))
    this.#base = this.#latest = this.#fragmentStart = base
  }

  /** Whether it has sound alone. */
  get isSound(): boolean {
    return this.#tracks.every(({ track }) => track.kind === 'audio')
  }

  /** Milliseconds from the beginning of the file to a place on the source's timeline. */
  lengthAt(timestamp: number): number {
    return timestamp - this.#base
  }

  /**
   * Adds a frame; one that no track of the file takes is left out.
   * @param parameterSets in front of a keyframe, in place of the track's own (H.264)
   */
  add(
    kind: 'video' | 'audio',
    { payload, timestamp }: RelayMessage,
    { codec, isKeyframe }: Classification,
    parameterSets?: Buffer,
  ): void {
    const writing = this.#tracks.find(({ track }) => track.kind === kind)
    if (writing === undefined || writing.codec !== codec) return
    const { composition, data } = codedBody(kind, payload)
    const silence = timestamp - this.#latest
    if (silence > this.#longestSilence) this.#base += silence - SEAM_MS
    // Pictures before an outage are all shown before those after it.
    this.#latest = Math.max(this.#latest, timestamp + Math.min(Math.max(composition, 0), MOST_REORDER_MS))
    const decodeTime = Math.max(0, timestamp - this.#base)
    const isSync = kind === 'audio' || isKeyframe
    const own = kind === 'video' && isKeyframe ? writing.track.parameterSets : undefined
    const sample = sampleOf(codec, data)
    settle(writing, decodeTime)
    writing.waiting = {
      decodeTime,
      composition,
      isKeyframe: isSync,
      data: own === undefined ? sample : Buffer.concat([parameterSets ?? own, sample]),
    }
    if (timestamp - this.#fragmentStart < FRAGMENT_MS) return
    this.#fragmentStart = timestamp
    this.#write()
  }

  /** Writes what is left. Nothing may be added any more. */
  flush(): void {
    for (const writing of this.#tracks) {
      // The last one is shown as long as the one before it.
      if (writing.waiting) settle(writing, writing.waiting.decodeTime + (writing.samples.at(-1)?.duration ?? SEAM_MS))
    }
    this.#write()
  }

  get #longestSilence(): number {
    return this.#tracks.some(({ track }) => track.kind === 'audio') ? OUTAGE_MS.withSound : OUTAGE_MS.silent
  }

  #write(): void {
    this.file.add(this.#tracks.map(({ samples, track }) => ({ track, samples: samples.splice(0) })))
  }
}

/** Gives the sample that waits its duration. */
function settle(writing: Writing, next: number): void {
  const { waiting } = writing
  if (waiting === undefined) return
  writing.samples.push({ ...waiting, duration: Math.max(0, next - waiting.decodeTime) })
  writing.waiting = undefined
}
