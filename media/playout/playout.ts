import { audioConfiguration, metadata, videoConfiguration } from './payloads.ts'
import { MovieReader, type Frame } from './movie-reader.ts'
import { PlayoutError } from './errors.ts'
import { StillPicture } from './still-picture.ts'
import type { DesiredPlayout, PlayoutPosition } from '../types.ts'
import { AUDIO, DATA, VIDEO } from '../rtmp/flv.ts'

/** What is to be sent now. */
export interface PlayoutMessage {
  readonly type: typeof AUDIO | typeof VIDEO | typeof DATA
  /** Milliseconds on the line of the whole playout, which never goes back. */
  readonly timestamp: number
  readonly payload: Buffer
}

export interface PlayoutOptions {
  readonly desired: DesiredPlayout
  readonly send: (message: PlayoutMessage) => void
  /** Another file begins. */
  readonly onItem: () => void
  /** It begins, or goes on elsewhere after a cue: the position is that of the keyframe it begins with. */
  readonly onBegin: () => void
  /** A file cannot be played and is left out. */
  readonly onSkipped: (item: number, reason: string) => void
  /** All was played (null), or nothing of it can be. Not called after {@link Playout.stop}. */
  readonly onEnd: (failure: string | null) => void
}

/** Frames that are due within this time go out together: fewer times to wake up. */
const TOGETHER_MS = 10
/** What comes after a cut is later than what was before it, by about one picture. */
const CUT_MS = 33
/** Whoever is later than this goes on from here, instead of hurrying after the clock. */
const MOST_LATE_MS = 2_000

/**
 * Plays files one after another at their own pace, on one line of time: what follows a file, be it the same one again,
 * begins where that ended. While it is paused, the last picture stands still and there is silence, so that no platform
 * takes the stream for dead.
 */
export class Playout {
  readonly #options: PlayoutOptions
  #desired: DesiredPlayout
  #item: number
  #ms: number
  #cue: number
  /** The last cue whose beginning was told. */
  #begun: number | undefined
  /** Where the next frame lies on the line of the playout. */
  #line = 0
  /** Monotonic: when the beginning of the line was due. */
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

  /** Plays until the end, or until it is stopped. Never rejects. */
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

  /** Takes a new wish: paused or not, more files, somewhere else. */
  update(desired: DesiredPlayout): void {
    this.#desired = desired
    this.#wake?.()
  }

  stop(): void {
    this.#stopped = true
    this.#wake?.()
  }

  /** @returns why nothing could be played; null when something was */
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
        this.#leave()
      }
    }
    return failures > 0 ? lastFailure : null
  }

  /** Plays one file from where the position says, to its end or until somebody wants to be elsewhere. */
  async #playItem(): Promise<void> {
    if (this.#isCued()) this.#line += CUT_MS
    this.#heedCue()
    const path = this.#desired.items[this.#item]?.path
    if (path === undefined) return
    const movie = await this.#open(path)
    this.#options.onItem()
    let start = this.#begin(movie)
    if (this.#begun !== this.#cue) {
      this.#begun = this.#cue
      this.#options.onBegin()
    }
    for (;;) {
      if (this.#desired.paused && !this.#stopped && !this.#isCued()) {
        await this.#hold(movie)
        if (!this.#stopped && !this.#isCued()) start = this.#begin(movie)
      }
      if (this.#stopped || this.#isCued()) return
      const frame = await movie.next()
      if (frame === undefined) break
      await this.#until(start + frame.ms)
      // While it waited, the wish may have changed: then this frame is not part of it.
      if (this.#stopped || this.#isCued()) return
      if (!this.#desired.paused) this.#send(frame, start + frame.ms)
    }
    this.#line = start + movie.durationMs
    this.#leave()
  }

  #begin(movie: MovieReader): number {
    const from = movie.seek(this.#ms)
    this.#ms = from
    this.#headers(movie)
    return this.#line - from
  }

  /** Shows the picture at hand until it goes on. */
  async #hold(movie: MovieReader): Promise<void> {
    movie.seek(this.#ms)
    this.#line += CUT_MS
    const still = await StillPicture.of(movie)
    while (this.#desired.paused && !this.#stopped && !this.#isCued()) {
      for (const { payload, type } of still.frames(this.#line)) {
        this.#options.send({ type, timestamp: Math.round(this.#line), payload })
      }
      this.#line += still.stepMs
      await this.#until(this.#line, true)
    }
  }

  #headers(movie: MovieReader): void {
    const { audio, video } = movie.movie
    const wanted: [PlayoutMessage['type'], Buffer][] = [
      [DATA, metadata(movie.movie)],
      [VIDEO, videoConfiguration(video?.config ?? Buffer.alloc(0))],
      [AUDIO, audioConfiguration(audio?.config ?? Buffer.alloc(0))],
    ]
    for (const [type, payload] of wanted) {
      if (this.#sentHeaders.get(type)?.equals(payload)) continue
      this.#sentHeaders.set(type, payload)
      this.#options.send({ type, timestamp: Math.round(this.#line), payload })
    }
  }

  #send({ kind, ms, payload }: Frame, line: number): void {
    this.#line = Math.max(this.#line, line)
    this.#ms = ms
    this.#options.send({ type: kind === 'video' ? VIDEO : AUDIO, timestamp: Math.round(line), payload })
  }

  /** Waits until a place of the line is due, or until the wish changes. */
  async #until(line: number, exactly = false): Promise<void> {
    const now = performance.now()
    this.#origin ??= now - line
    if (now - (this.#origin + line) > MOST_LATE_MS) this.#origin = now - line
    const wait = this.#origin + line - now
    if (wait <= (exactly ? 0 : TOGETHER_MS) || this.#stopped) return
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

  #isCued(): boolean {
    return this.#desired.cue !== this.#cue
  }

  #heedCue(): void {
    if (!this.#isCued()) return
    const { cue, item, ms } = this.#desired
    this.#cue = cue
    this.#item = item
    this.#ms = ms
  }

  #leave(): void {
    this.#item += 1
    this.#ms = 0
    if (this.#item >= this.#desired.items.length && this.#desired.loop) this.#item = 0
  }
}

/** In words, without the paths that messages of the file system have in them. */
function reasonOf(error: unknown): string {
  if (error instanceof PlayoutError) return error.message
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOENT') return 'The file is not there any more.'
  if (code !== undefined) return `The file cannot be read (${code}).`
  throw error
}
