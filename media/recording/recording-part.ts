import type { RelayMessage } from '../relay/relay-message.ts'
import { readTagBody } from '../rtmp/tag-body.ts'
import type { Classification } from '../rtmp/flv.ts'
import type { DesiredRecording } from '../types.ts'
import type { RecordedSample, RecordedTrack } from './fmp4.ts'
import { toSample } from './recorded-tracks.ts'
import { RecordingFile } from './recording-file.ts'

/** A track of a file, and its codec as named by `classify`. */
export interface PartTrack {
  readonly codec: string
  readonly track: RecordedTrack
}

export interface RecordingPartOptions {
  readonly path: string
  /** Video first, if any. */
  readonly tracks: readonly [PartTrack, ...PartTrack[]]
  /** Start of the file on the source's timeline, milliseconds. */
  readonly base: number
  readonly gaps: NonNullable<DesiredRecording['gaps']>
}

/** Duration of a fragment. A killed process loses no more than one. */
const FRAGMENT_MS = 500
/** A longer time without media is an outage, which is cut out. Without audio, frames may be further apart. */
const OUTAGE_MS = { withAudio: 1_000, withoutAudio: 5_000 } as const
/** Duration that remains of an outage. Also the duration of a single frame. */
const CUT_MS = 33
/** Larger composition time offsets are not taken into account for outages. */
const MAX_COMPOSITION_MS = 1_000

/** A track that is being written. The duration of the last sample is known when the next one arrives. */
interface TrackState extends PartTrack {
  readonly samples: RecordedSample[]
  last: Omit<RecordedSample, 'duration'> | undefined
}

/** One file of a recording. Maps frames to the timeline of the file, cuts out outages and groups samples into fragments. */
export class RecordingPart {
  readonly file: RecordingFile
  /** Whether outages are cut out or the slate is recorded. */
  readonly gaps: RecordingPartOptions['gaps']
  readonly #tracks: readonly TrackState[]
  /** Time 0 of the file on the source's timeline. Outages that were cut out move it forward. */
  #base: number
  /** Latest presentation time on the source's timeline. */
  #latest: number
  #fragmentStart: number

  constructor({ base, gaps, path, tracks }: RecordingPartOptions) {
    this.file = new RecordingFile(
      path,
      tracks.map(({ track }) => track),
    )
    this.gaps = gaps
    this.#tracks = tracks.map((track) => ({ ...track, samples: [], last: undefined }))
    this.#base = this.#latest = this.#fragmentStart = base
  }

  get isAudioOnly(): boolean {
    return this.#tracks.every(({ track }) => track.kind === 'audio')
  }

  /** Length of the file at a time of the source's timeline, milliseconds. */
  lengthAt(timestamp: number): number {
    return timestamp - this.#base
  }

  /**
   * Adds a frame. A frame that belongs to no track of the file is ignored.
   *
   * @param parameterSets replace the parameter sets of the track in front of a keyframe (H.264)
   */
  add(
    kind: 'video' | 'audio',
    { payload, timestamp }: RelayMessage,
    { codec, isKeyframe }: Classification,
    parameterSets?: Buffer,
  ): void {
    const state = this.#tracks.find(({ track }) => track.kind === kind)
    if (state === undefined || state.codec !== codec) return
    const { composition, data } = readTagBody(kind, payload)
    const gap = timestamp - this.#latest
    if (gap > this.#outageMs) this.#base += gap - CUT_MS
    // Presentation times, so that frames before an outage are presented before those after it.
    this.#latest = Math.max(this.#latest, timestamp + Math.min(Math.max(composition, 0), MAX_COMPOSITION_MS))
    const decodeTime = Math.max(0, timestamp - this.#base)
    const isSync = kind === 'audio' || isKeyframe
    const ownSets = kind === 'video' && isKeyframe ? state.track.parameterSets : undefined
    const sample = toSample(codec, data)
    completeLast(state, decodeTime)
    state.last = {
      decodeTime,
      composition,
      isKeyframe: isSync,
      data: ownSets === undefined ? sample : Buffer.concat([parameterSets ?? ownSets, sample]),
    }
    if (timestamp - this.#fragmentStart < FRAGMENT_MS) return
    this.#fragmentStart = timestamp
    this.#write()
  }

  /** Writes the remaining samples. No frame may be added after this. */
  flush(): void {
    for (const state of this.#tracks) {
      // The last sample gets the duration of the one before it.
      if (state.last) completeLast(state, state.last.decodeTime + (state.samples.at(-1)?.duration ?? CUT_MS))
    }
    this.#write()
  }

  get #outageMs(): number {
    return this.#tracks.some(({ track }) => track.kind === 'audio') ? OUTAGE_MS.withAudio : OUTAGE_MS.withoutAudio
  }

  #write(): void {
    this.file.add(this.#tracks.map(({ samples, track }) => ({ track, samples: samples.splice(0) })))
  }
}

/** Sets the duration of the last sample. @param next decoding time of the next one */
function completeLast(state: TrackState, next: number): void {
  const { last } = state
  if (last === undefined) return
  state.samples.push({ ...last, duration: Math.max(0, next - last.decodeTime) })
  state.last = undefined
}
