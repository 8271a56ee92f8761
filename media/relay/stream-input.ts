import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { IngestStatus, MediaKind, MediaMessage } from '../types.ts'
import type { GroupCacheLimits } from './group-cache.ts'

/** A publisher with a longer gap between frames is not steady. */
const GAP_MS = 1_000
/**
 * A publisher that has sent only audio for this long counts as audio-only. One that announced video gets more time: its
 * machine may be busy, or its first keyframe may be lost.
 */
const SOUND_ALONE_MS = { usual: 2_000, announced: 10_000 } as const
/**
 * Delayed media arrives in a burst, and playing continues from its last keyframe. A keyframe is the last one if no other
 * follows within `settleMs`. `mostMs` bounds the wait for publishers that send only keyframes.
 */
const BURST = { settleMs: 200, mostMs: 1_000 } as const

/** One publisher of a stream, with the buffered media that is needed to switch to it at any moment. */
export class Feeder {
  readonly publisher: Publisher
  readonly source: IngestStatus['source']
  readonly since = new Date().toISOString()
  /** Monotonic milliseconds of its last frame. */
  lastFrameAt: number
  /**
   * Monotonic milliseconds of the last frame that viewers can see or hear. Audio counts once pictures have begun, or if
   * there are none. Null before the first one.
   */
  lastShownAt: number | null = null
  /** Since when it has sent without a gap, monotonic milliseconds. */
  steadySince: number
  /** How long its media was counted while it fed the stream, milliseconds. */
  liveMs = 0
  readonly #limits: GroupCacheLimits
  readonly #headers = new Map<MediaKind, MediaMessage>()
  #group: MediaMessage[] = []
  #bytes = 0
  #open = false
  #hasVideo = false
  #hasPicture = false
  /** When its first audio came, monotonic. */
  #soundSince: number | null = null
  /** When the first and the last keyframe came while it was on standby, monotonic. */
  #keyframes: { readonly first: number; readonly last: number } | null = null

  constructor(publisher: Publisher, source: IngestStatus['source'], limits: GroupCacheLimits, now: number) {
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
  group(): readonly MediaMessage[] {
    return this.#group
  }

  /** Whether it can show a picture at once. */
  get isReady(): boolean {
    return this.#group.length > 0 || (!this.#hasVideo && this.#headers.size > 0)
  }

  /** Whether it can replace the slate: with a picture, or with audio if it sends no video. */
  canReplace(now: number): boolean {
    if (!this.#hasVideo) return this.#isSoundAlone(now)
    if (this.#keyframes === null || this.#group.length === 0) return false
    const { first, last } = this.#keyframes
    return now - last >= BURST.settleMs || now - first >= BURST.mostMs
  }

  /** Records a message at `now`. @param waits whether another publisher feeds the stream */
  note(message: MediaMessage, now: number, waits: boolean): void {
    const { isHeader, isKeyframe, kind } = message
    if (kind === 'video') this.#hasVideo = true
    if (isHeader) {
      this.#headers.set(kind, message)
      if (kind === 'video') this.#drop()
      return
    }
    if (kind !== 'data') {
      if (now - this.lastFrameAt > GAP_MS) this.steadySince = now
      this.lastFrameAt = now
    }
    if (kind === 'audio') this.#soundSince ??= now
    if (kind === 'video' && isKeyframe) this.#hasPicture = true
    if (this.#hasPicture || this.#isSoundAlone(now)) this.lastShownAt = now
    if (waits) this.#keep(message, kind === 'video' && isKeyframe, now)
  }

  /** Drops the buffered media. */
  letGo(): void {
    this.#drop()
    this.#keyframes = null
  }

  status(): IngestStatus {
    const { remoteAddress, sessionId } = this.publisher
    return { sessionId, source: this.source, since: this.since, remoteAddress, ...this.publisher.stats() }
  }

  #isSoundAlone(now: number): boolean {
    const patience = this.publisher.announcesVideo ? SOUND_ALONE_MS.announced : SOUND_ALONE_MS.usual
    return !this.#hasVideo && this.#soundSince !== null && now - this.#soundSince >= patience
  }

  #keep(message: MediaMessage, isKeyframe: boolean, now: number): void {
    if (isKeyframe) {
      this.#drop()
      this.#open = true
      this.#keyframes = { first: this.#keyframes?.first ?? now, last: now }
    }
    if (!this.#open) return
    this.#group.push(message)
    this.#bytes += message.payload.length
    if (this.#bytes > this.#limits.maxBytes || this.#group.length > this.#limits.maxMessages) this.#drop()
  }

  #drop(): void {
    this.#group = []
    this.#bytes = 0
    this.#open = false
  }
}
