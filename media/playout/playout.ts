import { audioSequenceHeader, metadata, videoSequenceHeader } from './flv-bodies.ts'
import { MovieReader, type Frame } from './movie-reader.ts'
import { PlayoutError } from './errors.ts'
import { StillFrame } from './still-frame.ts'
import type { DesiredPlayout, PlayoutPosition } from '../types.ts'
import { AUDIO, DATA, VIDEO } from '../rtmp/flv.ts'

/** A message that is due. */
export interface PlayoutMessage {
  readonly type: typeof AUDIO | typeof VIDEO | typeof DATA
  /** Milliseconds since the start of the playout. Never goes back. */
  readonly timestamp: number
  readonly payload: Buffer
}

export interface PlayoutOptions {
  readonly desired: DesiredPlayout
  readonly send: (message: PlayoutMessage) => void
  /** Another file starts. */
  readonly onItem: () => void
  /** The playout starts, or continues after a cue. The position is that of the first keyframe. */
  readonly onBegin: () => void
  /** A file cannot be played and is skipped. */
  readonly onSkipped: (item: number, reason: string) => void
  /** The playout has ended: null, or the reason why no file could be played. Not called after {@link Playout.stop}. */
  readonly onEnd: (failure: string | null) => void
}

/** Frames that are due within this time are sent together, to save wake-ups. */
const BATCH_MS = 10
/** Timestamps advance by this much, about one frame, at a cue or pause. */
const CUT_MS = 33
/** A playout that is later than this continues in real time from now, instead of catching up. */
const MAX_LATE_MS = 2_000

/**
 * Plays files one after another in real time. Timestamps continue across files and repetitions. During a pause it sends
 * the last keyframe and silence, so that platforms keep the stream.
 */
export class Playout {
  readonly #options: PlayoutOptions
  #desired: DesiredPlayout
  #item: number
  #ms: number
  #cue: number
  /** The last cue that was reported with `onBegin`. */
  #begunCue: number | undefined
  /** Timestamp of the last frame, or of the next one between files. */
  #timestamp = 0
  /** Monotonic time of timestamp 0. */
  #origin: number | undefined
  #stopped = false
  #wake: (() => void) | undefined
  #reader: { readonly path: string; readonly movie: MovieReader } | undefined
  readonly #sentHeaders = new Map<number, Buffer>()

  constructor(options: PlayoutOptions) {
    this.#options = options
    this.#desired = options.desired
    this.#item = options.desired.item
    this.#ms = options.desired.ms
    this.#cue = options.desired.cue
  }

  get position(): PlayoutPosition {
    return { item: this.#item, ms: Math.round(this.#ms), cue: this.#cue }
  }

  get paused(): boolean {
    return this.#desired.paused
  }

  /** Plays until the end or until {@link stop}. Never rejects. */
  async run(): Promise<void> {
    let failure: string | null = null
    try {
      failure = await this.#playAll()
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error)
    }
    await this.#release()
    if (!this.#stopped) this.#options.onEnd(failure)
  }

  /** Applies a new desired state: paused or not, other files, another position. */
  update(desired: DesiredPlayout): void {
    this.#desired = desired
    this.#wake?.()
  }

  stop(): void {
    this.#stopped = true
    this.#wake?.()
  }

  /** @returns the reason why no file could be played; null if one was played */
  async #playAll(): Promise<string | null> {
    let failures = 0
    let lastFailure: string | null = null
    while (!this.#stopped && this.#item < this.#desired.items.length) {
      try {
        await this.#playItem()
        failures = 0
      } catch (error) {
        if (this.#stopped) break
        lastFailure = reasonOf(error)
        this.#options.onSkipped(this.#item, lastFailure)
        await this.#release()
        failures += 1
        if (failures >= this.#desired.items.length) return lastFailure
        this.#nextItem()
      }
    }
    return failures > 0 ? lastFailure : null
  }

  /** Plays one file from the current position to its end, or until the next cue. */
  async #playItem(): Promise<void> {
    if (this.#hasNewCue()) this.#timestamp += CUT_MS
    this.#applyCue()
    const path = this.#desired.items[this.#item]?.path
    if (path === undefined) return
    const movie = await this.#open(path)
    this.#options.onItem()
    let start = this.#begin(movie)
    if (this.#begunCue !== this.#cue) {
      this.#begunCue = this.#cue
      this.#options.onBegin()
    }
    for (;;) {
      if (this.#desired.paused && !this.#stopped && !this.#hasNewCue()) {
        await this.#pause(movie)
        if (!this.#stopped && !this.#hasNewCue()) start = this.#begin(movie)
      }
      if (this.#stopped || this.#hasNewCue()) return
      const frame = await movie.next()
      if (frame === undefined) break
      await this.#waitUntil(start + frame.ms)
      // The desired state may have changed during the wait.
      if (this.#stopped || this.#hasNewCue()) return
      if (!this.#desired.paused) this.#send(frame, start + frame.ms)
    }
    this.#timestamp = start + movie.durationMs
    this.#nextItem()
  }

  /** Seeks to the current position and sends the sequence headers. @returns the timestamp of the start of the file */
  #begin(movie: MovieReader): number {
    const from = movie.seek(this.#ms)
    this.#ms = from
    this.#sendHeaders(movie)
    return this.#timestamp - from
  }

  /** Sends the current keyframe until the pause ends. */
  async #pause(movie: MovieReader): Promise<void> {
    movie.seek(this.#ms)
    this.#timestamp += CUT_MS
    const still = await StillFrame.of(movie)
    while (this.#desired.paused && !this.#stopped && !this.#hasNewCue()) {
      for (const { payload, type } of still.frames(this.#timestamp)) {
        this.#options.send({ type, timestamp: Math.round(this.#timestamp), payload })
      }
      this.#timestamp += still.stepMs
      await this.#waitUntil(this.#timestamp, true)
    }
  }

  /** Sends metadata and sequence headers that differ from the last ones. */
  #sendHeaders(movie: MovieReader): void {
    const { audio, video } = movie.movie
    const wanted: [PlayoutMessage['type'], Buffer][] = [
      [DATA, metadata(movie.movie)],
      [VIDEO, videoSequenceHeader(video?.config ?? Buffer.alloc(0))],
      [AUDIO, audioSequenceHeader(audio?.config ?? Buffer.alloc(0))],
    ]
    for (const [type, payload] of wanted) {
      if (this.#sentHeaders.get(type)?.equals(payload)) continue
      this.#sentHeaders.set(type, payload)
      this.#options.send({ type, timestamp: Math.round(this.#timestamp), payload })
    }
  }

  #send({ kind, ms, payload }: Frame, timestamp: number): void {
    this.#timestamp = Math.max(this.#timestamp, timestamp)
    this.#ms = ms
    this.#options.send({ type: kind === 'video' ? VIDEO : AUDIO, timestamp: Math.round(timestamp), payload })
  }

  /** Waits until a timestamp is due, or until the desired state changes. */
  async #waitUntil(timestamp: number, exactly = false): Promise<void> {
    const now = performance.now()
    this.#origin ??= now - timestamp
    if (now - (this.#origin + timestamp) > MAX_LATE_MS) this.#origin = now - timestamp
    const wait = this.#origin + timestamp - now
    if (wait <= (exactly ? 0 : BATCH_MS) || this.#stopped) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }

  async #open(path: string): Promise<MovieReader> {
    if (this.#reader?.path === path) return this.#reader.movie
    await this.#release()
    const movie = await MovieReader.open(path)
    this.#reader = { path, movie }
    return movie
  }

  async #release(): Promise<void> {
    const reader = this.#reader
    this.#reader = undefined
    await reader?.movie.close()
  }

  #hasNewCue(): boolean {
    return this.#desired.cue !== this.#cue
  }

  #applyCue(): void {
    if (!this.#hasNewCue()) return
    const { cue, item, ms } = this.#desired
    this.#cue = cue
    this.#item = item
    this.#ms = ms
  }

  #nextItem(): void {
    this.#item += 1
    this.#ms = 0
    if (this.#item >= this.#desired.items.length && this.#desired.loop) this.#item = 0
  }
}

/** The reason for the user. Messages of file system errors are not used, because they contain paths. */
function reasonOf(error: unknown): string {
  if (error instanceof PlayoutError) return error.message
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOENT') return 'The file no longer exists.'
  if (code !== undefined) return `The file cannot be read (${code}).`
  throw error
}
