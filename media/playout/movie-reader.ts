import { PlayoutError } from './errors.ts'
import { FileWindow } from './file-window.ts'
import { openMovie, type Movie } from './movie.ts'
import { AUDIO_HEADER_BYTES, startAudio, startVideo, VIDEO_HEADER_BYTES } from './payloads.ts'
import { suitabilityOf } from './suitability.ts'
import type { Track } from './track.ts'

/** A picture or a piece of sound, ready to be sent. */
export interface Frame {
  readonly kind: 'video' | 'audio'
  /** When it is due, milliseconds since the beginning of the file. */
  readonly ms: number
  readonly isKeyframe: boolean
  readonly payload: Buffer
}

/** A sample is a picture: more than this nobody sends. */
const MOST_SAMPLE_BYTES = 16 * 1024 * 1024

/** Reads the frames of a file in the order in which they are due. */
export class MovieReader {
  readonly movie: Movie
  /** When what comes after the file would be due, milliseconds. */
  readonly durationMs: number
  readonly #window: FileWindow
  readonly #video: Cursor
  readonly #audio: Cursor

  private constructor(movie: Movie, window: FileWindow) {
    const { audio, video } = movie
    if (audio === undefined || video === undefined) throw new PlayoutError('The file lacks picture or sound.')
    this.movie = movie
    this.#window = window
    // Pictures are decoded before they are shown; the earliest of both tracks is the beginning.
    const first = Math.min(startOf(video), startOf(audio))
    this.#video = new Cursor(video, first)
    this.#audio = new Cursor(audio, first)
    this.durationMs = Math.max(this.#video.endMs, this.#audio.endMs)
  }

  /** @throws PlayoutError when the file cannot be played as it is, saying why */
  static async open(path: string): Promise<MovieReader> {
    const movie = await openMovie(path)
    const [fault] = suitabilityOf(movie).faults
    if (fault !== undefined) throw new PlayoutError(fault)
    const window = await FileWindow.open(path)
    try {
      return new MovieReader(movie, window)
    } catch (error) {
      await window.close()
      throw error
    }
  }

  /** Goes to the last keyframe at a time or before. @returns when that is due */
  seek(ms: number): number {
    this.#video.seekKeyframe(ms)
    const start = ms <= 0 ? 0 : this.#video.dueMs
    this.#audio.seek(start)
    return start
  }

  /** The frame that is due next; undefined at the end. */
  async next(): Promise<Frame | undefined> {
    const cursor = this.#audio.dueMs < this.#video.dueMs ? this.#audio : this.#video
    if (cursor.isAtEnd) return undefined
    const frame = await this.#read(cursor)
    cursor.index += 1
    return frame
  }

  close(): Promise<void> {
    return this.#window.close()
  }

  async #read({ dueMs, index, track }: Cursor): Promise<Frame> {
    const { kind, samples, timescale } = track
    const size = samples.size(index)
    if (size > MOST_SAMPLE_BYTES) throw new PlayoutError('The file is damaged.')
    const header = kind === 'video' ? VIDEO_HEADER_BYTES : AUDIO_HEADER_BYTES
    const payload = Buffer.allocUnsafe(header + size)
    await this.#window.copy(samples.offset(index), size, payload, header)
    const isKeyframe = kind === 'video' && samples.isKeyframe(index)
    if (kind === 'audio') startAudio(payload)
    else {
      const decoded = samples.decodeTime(index) - track.edits.origin
      const shown = decoded + samples.composition(index)
      // Both rounded in the same way, so that pictures keep their distances.
      startVideo(payload, isKeyframe, toMs(shown, timescale) - toMs(decoded, timescale))
    }
    return { kind, ms: dueMs, isKeyframe, payload }
  }
}

/** How far one track is. */
class Cursor {
  readonly track: Track
  readonly endMs: number
  index = 0
  /** Where the file begins on the line of its presentation, milliseconds. */
  readonly #first: number

  constructor(track: Track, first: number) {
    this.track = track
    this.#first = first
    this.endMs = this.#msOf(track.end)
  }

  get isAtEnd(): boolean {
    return this.index >= this.track.samples.length
  }

  /** When the sample here is due; infinity at the end. */
  get dueMs(): number {
    if (this.isAtEnd) return Infinity
    return this.#msOf(this.track.samples.decodeTime(this.index))
  }

  /** To the first sample that is due at a time or after it. */
  seek(ms: number): void {
    this.index = this.track.samples.at(this.#timeOf(ms))
    if (this.dueMs < ms) this.index += 1
  }

  seekKeyframe(ms: number): void {
    const { samples } = this.track
    this.index = ms <= 0 ? 0 : samples.at(this.#timeOf(ms + 0.5))
    while (this.index > 0 && !samples.isKeyframe(this.index)) this.index -= 1
  }

  #msOf(time: number): number {
    return toMs(time - this.track.edits.origin, this.track.timescale) - this.#first
  }

  #timeOf(ms: number): number {
    return ((ms + this.#first) * this.track.timescale) / 1_000 + this.track.edits.origin
  }
}

function startOf({ edits, samples, timescale }: Track): number {
  return toMs(samples.decodeTime(0) - edits.origin, timescale)
}

function toMs(time: number, timescale: number): number {
  return Math.round((time * 1_000) / timescale)
}
