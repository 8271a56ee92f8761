import type { PublisherStats } from '../ingest/ingest-meter.ts'
import type { StreamInput } from '../relay/stream-input.ts'
import type { ShownSlate } from '../relay/publisher-pair.ts'
import type { Source } from '../relay/source.ts'
import type { DesiredSlate, MediaMessage, SlateStatus } from '../types.ts'
import type { SlateFormat } from './arguments.ts'
import type { SlateClip } from './clip.ts'
import { SlateLoop } from './loop.ts'
import type { SlateRenderer } from './renderer.ts'

export interface SlateOptions {
  readonly source: Source
  readonly renderer: SlateRenderer
  /** The slate starts after this many milliseconds without a frame. */
  readonly afterMs: number
  readonly onShown: (shown: boolean) => void
}

/** What a clip is rendered from. If either part changes, a new clip is rendered. */
interface ClipKey {
  /** The publisher's video configuration. */
  readonly configuration: Buffer
  readonly picture: string | undefined
}

/** Interval at which frames of the slate are sent. */
const STEP_MS = 20
/** A publisher's frame rate is reliable after this uptime. */
const SETTLED_SECONDS = 1
/** Rendering is retried this long after a failure. */
const RETRY_MS = 30_000
const NO_FFMPEG = 'A slate needs ffmpeg, which this media node does not have.'

/**
 * Sends a picture in place of a publisher that is disconnected or silent, with the same size and frame rate, and with
 * silence in the same audio format. The clip is rendered while the publisher sends.
 */
export class Slate implements ShownSlate {
  readonly #options: SlateOptions
  #desired: DesiredSlate | undefined
  #isLive = false
  #input: StreamInput | null = null
  /** Monotonic milliseconds of the last frame of the previous publisher, or of the arrival of the first publisher. */
  #lastFrameAt = 0
  #headers: readonly MediaMessage[] = []
  #clipKey: ClipKey | null = null
  #clip: SlateClip | null = null
  #reason: string | null = null
  #failedAt: number | null = null
  #playing: { readonly loop: SlateLoop; readonly since: number; readonly timer: NodeJS.Timeout } | null = null
  #startTimer: NodeJS.Timeout | undefined

  constructor(options: SlateOptions) {
    this.#options = options
  }

  get isShown(): boolean {
    return this.#playing !== null
  }

  /** Sets whether the slate may be shown. If it is shown now, the caller ends it. */
  apply(desired: DesiredSlate | undefined, isLive: boolean): void {
    this.#desired = desired
    this.#isLive = isLive
  }

  /**
   * Watches a publisher, also after its end; null: no publisher. A publisher that follows another one has no frames yet, so
   * the delay until the slate counts from the last frame of the previous one.
   */
  follow(input: StreamInput | null): void {
    const previous = this.#input
    this.#lastFrameAt = previous === null ? performance.now() : Math.max(previous.lastShownAt ?? 0, this.#lastFrameAt)
    this.#input = input
  }

  /** Renders the clip, and starts the slate if it is due. To be called regularly. `now`: monotonic milliseconds. */
  tick(now: number): void {
    const input = this.#input
    if (this.#desired === undefined || !this.#isLive || input === null || input.source === 'file') return
    this.#prepare(input, now)
    this.#scheduleStart(input, now)
  }

  end(): void {
    clearTimeout(this.#startTimer)
    if (this.#playing === null) return
    clearInterval(this.#playing.timer)
    this.#playing = null
    this.#options.onShown(false)
  }

  status(): SlateStatus | null {
    if (this.#desired === undefined) return null
    const reason = this.#reason
    if (this.isShown) return { state: 'shown', reason: null }
    if (reason !== null) return { state: 'unavailable', reason }
    if (this.#clipKey === null || !this.#isLive) return { state: 'waiting', reason }
    return { state: this.#clip === null ? 'preparing' : 'ready', reason }
  }

  #prepare(input: StreamInput, now: number): void {
    const stats = input.publisher.stats()
    const headers = input.headers()
    const video = headers.find(({ kind }) => kind === 'video')
    if (video === undefined) return
    const unsupported = this.#options.renderer.hasFfmpeg ? unsupportedReason(stats, headers) : NO_FFMPEG
    if (unsupported !== null) {
      this.#clipKey = this.#clip = null
      this.#reason = unsupported
      return
    }
    this.#headers = headers
    const picture = this.#desired?.picture
    const isCurrent = this.#clipKey?.configuration.equals(video.payload) && this.#clipKey.picture === picture
    const isRetryDue = this.#failedAt !== null && now - this.#failedAt >= RETRY_MS
    const isSettled = stats.uptimeSeconds >= SETTLED_SECONDS
    if (isSettled && (!isCurrent || isRetryDue))
      void this.#render({ configuration: video.payload, picture }, formatOf(stats, video))
  }

  async #render(key: ClipKey, format: SlateFormat): Promise<void> {
    this.#clipKey = key
    this.#clip = null
    this.#reason = this.#failedAt = null
    try {
      const clip = await this.#options.renderer.clip(format, key.picture)
      if (this.#clipKey === key) this.#clip = clip
    } catch (error) {
      if (this.#clipKey !== key) return
      this.#failedAt = performance.now()
      this.#reason = `The slate cannot be rendered: ${(error as Error).message}`
    }
  }

  /** Sets a timer for the exact moment when the slate is due if no frame arrives before. */
  #scheduleStart(input: StreamInput, now: number): void {
    if (this.#clip === null || this.isShown) return
    clearTimeout(this.#startTimer)
    const waitMs = this.#dueAt(input) - now
    if (waitMs > 0) this.#startTimer = setTimeout(() => this.tick(performance.now()), waitMs)
    // After this process was blocked, timers run before I/O. Frames may be waiting in the socket, so read them first.
    else setImmediate(() => this.#startIfDue(input, performance.now()))
  }

  #dueAt({ lastShownAt }: StreamInput): number {
    return Math.max(lastShownAt ?? 0, this.#lastFrameAt) + this.#options.afterMs
  }

  #startIfDue(input: StreamInput, now: number): void {
    const isWanted = this.#desired !== undefined && this.#isLive && input === this.#input && !this.isShown
    if (isWanted && this.#clip !== null && this.#dueAt(input) <= now) this.#start(this.#clip, now)
  }

  #start(clip: SlateClip, now: number): void {
    const loop = new SlateLoop(clip, this.#headers)
    this.#options.source.takeOver(loop.headers(), [], now)
    this.#playing = { loop, since: now, timer: setInterval(() => this.#sendDueFrames(), STEP_MS) }
    this.#sendDueFrames()
    this.#options.onShown(true)
  }

  #sendDueFrames(): void {
    if (this.#playing === null) return
    const now = performance.now()
    for (const message of this.#playing.loop.due(now - this.#playing.since)) this.#options.source.push(message, now)
  }
}

/** Why a slate cannot replace this publisher's media. Null if it can. */
function unsupportedReason(
  { audioCodec, videoCodec }: PublisherStats,
  headers: readonly MediaMessage[],
): string | null {
  // Enhanced RTMP has another body layout, also for H.264 and AAC.
  const isLegacy = headers.every(({ kind, payload }) =>
    kind === 'video' ? payload[0] === 0x17 : kind === 'data' || payload[0]! >> 4 === 10,
  )
  if (isLegacy && videoCodec === 'h264' && (audioCodec === null || audioCodec === 'aac')) return null
  const codecs = [videoCodec, audioCodec].filter((codec) => codec !== null).join(' with ')
  const format = isLegacy ? codecs : `${codecs} in Enhanced RTMP`
  return `A slate needs H.264 with AAC or without audio. The publisher sends ${format}.`
}

function formatOf({ fps, height, width }: PublisherStats, { payload }: MediaMessage): SlateFormat {
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
