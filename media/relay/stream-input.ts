import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { IngestStatus, MediaKind, MediaMessage } from '../types.ts'
import type { GopLimits } from './gop-cache.ts'

/** A publisher with a longer gap between two frames is not steady. */
const GAP_MS = 1_000
/**
 * A publisher that has sent only audio for this long counts as audio-only. One that announced video gets more time,
 * because its machine may be busy or its first keyframe may be lost.
 */
const AUDIO_ONLY_MS = { unannounced: 2_000, announced: 10_000 } as const
/**
 * Delayed media arrives in a burst, and relaying continues from its last keyframe. A keyframe is the last one if no other
 * follows within `settleMs`. `maxMs` limits the wait for publishers that send only keyframes.
 */
const BURST = { settleMs: 200, maxMs: 1_000 } as const

/** One publisher of a stream, and the media that is buffered to switch to it at any time. */
export class StreamInput {
  readonly publisher: Publisher
  readonly source: IngestStatus['source']
  readonly since = new Date().toISOString()
  /** When it sent its last frame, monotonic milliseconds. */
  lastFrameAt: number
  /**
   * When it sent the last frame that viewers can see or hear, monotonic milliseconds. Audio counts after the first
   * keyframe, or if there is no video. Null before the first such frame.
   */
  lastShownAt: number | null = null
  /** Since when it has sent without a gap, monotonic milliseconds. */
  steadySince: number
  /** Usage that was counted while it fed the stream, milliseconds. */
  liveMs = 0
  readonly #limits: GopLimits
  readonly #headers = new Map<MediaKind, MediaMessage>()
  #gop: MediaMessage[] = []
  #bytes = 0
  #isOpen = false
  #hasVideo = false
  #hasKeyframe = false
  /** When it sent its first audio, monotonic. */
  #audioSince: number | null = null
  /** When it sent its first and its last keyframe while it was buffered, monotonic. */
  #keyframes: { readonly first: number; readonly last: number } | null = null

  constructor(publisher: Publisher, source: IngestStatus['source'], limits: GopLimits, now: number) {
    this.publisher = publisher
    this.source = source
    this.lastFrameAt = this.steadySince = now
    this.#limits = limits
  }

  get hasVideo(): boolean {
    return this.#hasVideo
  }

  headers(): readonly MediaMessage[] {
    return (['data', 'video', 'audio'] as const).flatMap((kind) => this.#headers.get(kind) ?? [])
  }

  /** Media since its last keyframe. Empty while it feeds the stream, and before the first keyframe. */
  gop(): readonly MediaMessage[] {
    return this.#gop
  }

  /** Whether the stream can switch to it at once. */
  get isReady(): boolean {
    return this.#gop.length > 0 || (!this.#hasVideo && this.#headers.size > 0)
  }

  /** Whether it can replace the slate: with video, or with audio if it sends no video. */
  canReplaceSlate(now: number): boolean {
    if (!this.#hasVideo) return this.#isAudioOnly(now)
    if (this.#keyframes === null || this.#gop.length === 0) return false
    const { first, last } = this.#keyframes
    return now - last >= BURST.settleMs || now - first >= BURST.maxMs
  }

  /** Records a message that arrived at `now`. @param buffer whether to buffer it, because it is not relayed */
  note(message: MediaMessage, now: number, buffer: boolean): void {
    const { isSequenceHeader, isKeyframe, kind } = message
    if (kind === 'video') this.#hasVideo = true
    if (isSequenceHeader) {
      this.#headers.set(kind, message)
      if (kind === 'video') this.#dropGop()
      return
    }
    if (kind !== 'data') {
      if (now - this.lastFrameAt > GAP_MS) this.steadySince = now
      this.lastFrameAt = now
    }
    if (kind === 'audio') this.#audioSince ??= now
    if (kind === 'video' && isKeyframe) this.#hasKeyframe = true
    if (this.#hasKeyframe || this.#isAudioOnly(now)) this.lastShownAt = now
    if (buffer) this.#buffer(message, kind === 'video' && isKeyframe, now)
  }

  /** Drops the buffered media. */
  clear(): void {
    this.#dropGop()
    this.#keyframes = null
  }

  status(): IngestStatus {
    const { remoteAddress, sessionId } = this.publisher
    return { sessionId, source: this.source, since: this.since, remoteAddress, ...this.publisher.stats() }
  }

  #isAudioOnly(now: number): boolean {
    const afterMs = this.publisher.announcesVideo ? AUDIO_ONLY_MS.announced : AUDIO_ONLY_MS.unannounced
    return !this.#hasVideo && this.#audioSince !== null && now - this.#audioSince >= afterMs
  }

  #buffer(message: MediaMessage, isKeyframe: boolean, now: number): void {
    if (isKeyframe) {
      this.#dropGop()
      this.#isOpen = true
      this.#keyframes = { first: this.#keyframes?.first ?? now, last: now }
    }
    if (!this.#isOpen) return
    this.#gop.push(message)
    this.#bytes += message.payload.length
    if (this.#bytes > this.#limits.maxBytes || this.#gop.length > this.#limits.maxMessages) this.#dropGop()
  }

  #dropGop(): void {
    this.#gop = []
    this.#bytes = 0
    this.#isOpen = false
  }
}
