import type { PublisherStats } from '../ingest/ingest-meter.ts'
import type { StreamInput } from '../relay/stream-input.ts'
import type { ShownSlate } from '../relay/publisher-pair.ts'
import type { Source } from '../relay/source.ts'
import type { DesiredSlate, MediaMessage, SlateStatus } from '../types.ts'
import type { SlateForm } from './arguments.ts'
import type { SlateClip } from './clip.ts'
import { SlateLoop } from './loop.ts'
import type { SlateRenderer } from './renderer.ts'

export interface SlateOptions {
  readonly source: Source
  readonly renderer: SlateRenderer
  /** It is shown after this long without a frame, milliseconds. */
  readonly afterMs: number
  readonly onShown: (shown: boolean) => void
}

/** What the clip was made of: another configuration or picture makes another clip. */
interface Made {
  readonly configuration: Buffer
  readonly picture: string | undefined
}

/** How often frames are sent. */
const STEP_MS = 20
/** A rate of pictures says something after this time. */
const SETTLED_SECONDS = 1
/** What could not be rendered is tried again. */
const RETRY_MS = 30_000
const NO_FFMPEG = 'A slate needs ffmpeg, which this media node does not have.'

/**
 * Stands in for the publisher of a stream that is away or silent: a picture of the same size and rate with silence in the
 * same form, rendered while the publisher is there.
 */
export class Slate implements ShownSlate {
  readonly #options: SlateOptions
  #wish: DesiredSlate | undefined
  #live = false
  #input: StreamInput | null = null
  /** Monotonic: when viewers last saw something of the publisher before, or this one came. */
  #seenAt = 0
  #headers: readonly MediaMessage[] = []
  #made: Made | null = null
  #clip: SlateClip | null = null
  #reason: string | null = null
  #failedAt: number | null = null
  #playing: { readonly loop: SlateLoop; readonly since: number; readonly timer: NodeJS.Timeout } | null = null
  #due: NodeJS.Timeout | undefined

  constructor(options: SlateOptions) {
    this.#options = options
  }

  get isShown(): boolean {
    return this.#playing !== null
  }

  /** Whether it is to be shown when it has to be. What is shown already is its owner's to end. */
  apply(wish: DesiredSlate | undefined, live: boolean): void {
    this.#wish = wish
    this.#live = live
  }

  /**
   * Stands in for this publisher, also after its end; for nobody with null. Viewers wait for one that follows another as
   * long as they have seen nothing, also where it sends already.
   */
  follow(input: StreamInput | null): void {
    const before = this.#input
    this.#seenAt = before === null ? performance.now() : Math.max(before.lastShownAt ?? 0, this.#seenAt)
    this.#input = input
  }

  /** Called regularly, at monotonic milliseconds: makes what is to be shown, and sees when its time has come. */
  tick(now: number): void {
    const input = this.#input
    if (this.#wish === undefined || !this.#live || input === null || input.source === 'file') return
    this.#prepare(input, now)
    this.#await(input, now)
  }

  end(): void {
    clearTimeout(this.#due)
    if (this.#playing === null) return
    clearInterval(this.#playing.timer)
    this.#playing = null
    this.#options.onShown(false)
  }

  status(): SlateStatus | null {
    if (this.#wish === undefined) return null
    const reason = this.#reason
    if (this.isShown) return { state: 'shown', reason: null }
    if (reason !== null) return { state: 'unavailable', reason }
    if (this.#made === null || !this.#live) return { state: 'waiting', reason }
    return { state: this.#clip === null ? 'preparing' : 'ready', reason }
  }

  #prepare(input: StreamInput, now: number): void {
    const stats = input.publisher.stats()
    const headers = input.headers()
    const video = headers.find(({ kind }) => kind === 'video')
    if (video === undefined) return
    const refusal = this.#options.renderer.isAble ? refusalOf(stats, headers) : NO_FFMPEG
    if (refusal !== null) {
      this.#made = this.#clip = null
      this.#reason = refusal
      return
    }
    this.#headers = headers
    const picture = this.#wish?.picture
    const isMade = this.#made?.configuration.equals(video.payload) && this.#made.picture === picture
    const isDue = this.#failedAt !== null && now - this.#failedAt >= RETRY_MS
    const isSettled = stats.uptimeSeconds >= SETTLED_SECONDS
    if (isSettled && (!isMade || isDue))
      void this.#make({ configuration: video.payload, picture }, formOf(stats, video))
  }

  async #make(made: Made, form: SlateForm): Promise<void> {
    this.#made = made
    this.#clip = null
    this.#reason = this.#failedAt = null
    try {
      const clip = await this.#options.renderer.clip(form, made.picture)
      if (this.#made === made) this.#clip = clip
    } catch (error) {
      if (this.#made !== made) return
      this.#failedAt = performance.now()
      this.#reason = `The slate cannot be rendered: ${(error as Error).message}`
    }
  }

  /** Looks again at the very moment when silence has lasted long enough, should it last. */
  #await(input: StreamInput, now: number): void {
    if (this.#clip === null || this.isShown) return
    clearTimeout(this.#due)
    const wait = this.#dueAt(input) - now
    if (wait > 0) this.#due = setTimeout(() => this.tick(performance.now()), wait)
    // After a stall of this process timers run before I/O. Read what arrived meanwhile before calling it silence.
    else setImmediate(() => this.#beginIfDue(input, performance.now()))
  }

  #dueAt({ lastShownAt }: StreamInput): number {
    return Math.max(lastShownAt ?? 0, this.#seenAt) + this.#options.afterMs
  }

  #beginIfDue(input: StreamInput, now: number): void {
    const isWanted = this.#wish !== undefined && this.#live && input === this.#input && !this.isShown
    if (isWanted && this.#clip !== null && this.#dueAt(input) <= now) this.#begin(this.#clip, now)
  }

  #begin(clip: SlateClip, now: number): void {
    const loop = new SlateLoop(clip, this.#headers)
    this.#options.source.takeOver(loop.headers(), [], now)
    this.#playing = { loop, since: now, timer: setInterval(() => this.#play(), STEP_MS) }
    this.#play()
    this.#options.onShown(true)
  }

  #play(): void {
    if (this.#playing === null) return
    const now = performance.now()
    for (const message of this.#playing.loop.due(now - this.#playing.since)) this.#options.source.push(message, now)
  }
}

/** Why nothing can stand in for what a publisher sends, in words; null when it can. */
function refusalOf({ audioCodec, videoCodec }: PublisherStats, headers: readonly MediaMessage[]): string | null {
  // Enhanced RTMP lays its bodies out differently, also those of H.264 and AAC.
  const isPlain = headers.every(({ kind, payload }) =>
    kind === 'video' ? payload[0] === 0x17 : kind === 'data' || payload[0]! >> 4 === 10,
  )
  if (isPlain && videoCodec === 'h264' && (audioCodec === null || audioCodec === 'aac')) return null
  const sent = [videoCodec, audioCodec].filter((codec) => codec !== null).join(' with ')
  return `A slate stands in for H.264 with AAC; what comes in is ${sent}${isPlain ? '' : ' in Enhanced RTMP'}.`
}

function formOf({ fps, height, width }: PublisherStats, { payload }: MediaMessage): SlateForm {
  // AVCProfileIndication (ISO/IEC 14496-15, 5.3.3.1).
  const indication = payload[6] ?? 0
  const profile = indication >= 100 ? 'high' : indication > 66 ? 'main' : 'baseline'
  return {
    width: width ?? 1_280,
    height: height ?? 720,
    fps: Math.min(60, Math.max(5, Math.round(fps ?? 30))),
    profile,
  }
}
