import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { IngestStatus, MediaKind, MediaMessage } from '../types.ts'
import type { GroupCacheLimits } from './group-cache.ts'

/** Without a frame for this long a publisher is not steady. */
const GAP_MS = 1_000
/**
 * A publisher that has sent only audio for this long counts as audio-only. One that announced video gets longer: its
 * machine may be busy, or its first keyframe was lost.
 */
const SOUND_ALONE_MS = { usual: 2_000, announced: 10_000 } as const
/**
 * What was held up on its way comes in a burst: its last keyframe is the one to go on from. No other one after this time
 * means that it is the last; some send nothing but keyframes, for which nobody waits longer than that.
 */
const BURST = { settleMs: 200, mostMs: 1_000 } as const

/** One publisher of a stream, with what it takes to go on from it at any moment. */
export class Feeder {
  readonly publisher: Publisher
  readonly source: IngestStatus['source']
  readonly since = new Date().toISOString()
  /** Monotonic milliseconds of its last frame. */
  lastFrameAt: number
  /**
   * Monotonic milliseconds of the last frame with which viewers see what it sends: sound counts when its pictures have
   * begun, or when it has none. Null before the first.
   */
  lastShownAt: number | null = null
  /** Monotonic milliseconds: since when it has sent without a gap. */
  steadySince: number
  /** For how long its media was counted while it fed the stream, milliseconds. */
  liveMs = 0
  readonly #limits: GroupCacheLimits
  readonly #headers = new Map<MediaKind, MediaMessage>()
  #group: MediaMessage[] = []
  #bytes = 0
  #open = false
  #hasVideo = false
  #hasPicture = false
  /** Monotonic: when its first sound came. */
  #soundSince: number | null = null
  /** Monotonic: when the first and the last keyframe came since it waits. */
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

  /** From its last keyframe on; empty while it feeds the stream, or when no keyframe has come. */
  group(): readonly MediaMessage[] {
    return this.#group
  }

  /** Whether a picture could follow at once. */
  get isReady(): boolean {
    return this.#group.length > 0 || (!this.#hasVideo && this.#headers.size > 0)
  }

  /** Whether it can follow on what stood in for it: from a picture, or with sound alone if there is nothing else. */
  canReplace(now: number): boolean {
    if (!this.#hasVideo) return this.#isSoundAlone(now)
    if (this.#keyframes === null || this.#group.length === 0) return false
    const { first, last } = this.#keyframes
    return now - last >= BURST.settleMs || now - first >= BURST.mostMs
  }

  /** Takes note of a message at `now`. @param waits whether another publisher feeds the stream meanwhile */
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

  /** Drops what was kept. */
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
