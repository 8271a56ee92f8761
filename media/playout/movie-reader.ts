import { PlayoutError } from './errors.ts'
import { BufferedFile } from './buffered-file.ts'
import { openMovie, type Movie } from './movie.ts'
import { AUDIO_HEADER_BYTES, VIDEO_HEADER_BYTES, writeAudioTagHeader, writeVideoTagHeader } from './flv-bodies.ts'
import { checkMovie } from './suitability.ts'
import type { Track } from './track.ts'

/** A video or audio frame in the form of an RTMP message body. */
export interface Frame {
  readonly kind: 'video' | 'audio'
  /** Decoding time, milliseconds since the start of the file. */
  readonly ms: number
  readonly isKeyframe: boolean
  readonly payload: Buffer
}

/** Larger samples are taken for damage. */
const MAX_SAMPLE_BYTES = 16 * 1024 * 1024

/** Reads the frames of a file in decoding order, audio and video interleaved. */
export class MovieReader {
  readonly movie: Movie
  /** Time at which the next file would start, milliseconds. */
  readonly durationMs: number
  readonly #file: BufferedFile
  readonly #video: Cursor
  readonly #audio: Cursor

  private constructor(movie: Movie, file: BufferedFile) {
    const { audio, video } = movie
    if (audio === undefined || video === undefined) throw new PlayoutError('The file has no video or no audio.')
    this.movie = movie
    this.#file = file
    // The file starts with the earlier track.
    const first = Math.min(startOf(video), startOf(audio))
    this.#video = new Cursor(video, first)
    this.#audio = new Cursor(audio, first)
    this.durationMs = Math.max(this.#video.endMs, this.#audio.endMs)
  }

  /** @throws PlayoutError with the reason, when the file cannot be played without conversion */
  static async open(path: string): Promise<MovieReader> {
    const movie = await openMovie(path)
    const [fault] = checkMovie(movie).faults
    if (fault !== undefined) throw new PlayoutError(fault)
    const file = await BufferedFile.open(path)
    try {
      return new MovieReader(movie, file)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Moves to the last keyframe at or before a time. @returns its time */
  seek(ms: number): number {
    this.#video.seekKeyframe(ms)
    const start = ms <= 0 ? 0 : this.#video.ms
    this.#audio.seek(start)
    return start
  }

  /** Reads the next frame; undefined at the end. */
  async next(): Promise<Frame | undefined> {
    const cursor = this.#audio.ms < this.#video.ms ? this.#audio : this.#video
    if (cursor.isAtEnd) return undefined
    const frame = await this.#read(cursor)
    cursor.index += 1
    return frame
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  async #read({ index, ms, track }: Cursor): Promise<Frame> {
    const { kind, samples, timescale } = track
    const size = samples.size(index)
    if (size > MAX_SAMPLE_BYTES) throw new PlayoutError('The file is damaged.')
    const header = kind === 'video' ? VIDEO_HEADER_BYTES : AUDIO_HEADER_BYTES
    const payload = Buffer.allocUnsafe(header + size)
    await this.#file.copy(samples.offset(index), size, payload, header)
    const isKeyframe = kind === 'video' && samples.isKeyframe(index)
    if (kind === 'audio') writeAudioTagHeader(payload)
    else {
      const decoded = samples.decodeTime(index) - track.edits.origin
      const shown = decoded + samples.composition(index)
      // The difference of rounded times keeps the distances between frames.
      writeVideoTagHeader(payload, isKeyframe, toMs(shown, timescale) - toMs(decoded, timescale))
    }
    return { kind, ms, isKeyframe, payload }
  }
}

/** The read position in one track. */
class Cursor {
  readonly track: Track
  readonly endMs: number
  index = 0
  /** Presentation time of the start of the file, milliseconds. */
  readonly #first: number

  constructor(track: Track, first: number) {
    this.track = track
    this.#first = first
    this.endMs = this.#msOf(track.end)
  }

  get isAtEnd(): boolean {
    return this.index >= this.track.samples.length
  }

  /** Decoding time of the current sample, milliseconds since the start of the file; infinity at the end. */
  get ms(): number {
    if (this.isAtEnd) return Infinity
    return this.#msOf(this.track.samples.decodeTime(this.index))
  }

  /** Moves to the first sample at or after a time. */
  seek(ms: number): void {
    this.index = this.track.samples.at(this.#timeOf(ms))
    if (this.ms < ms) this.index += 1
  }

  /** Moves to the last keyframe at or before a time. */
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
