import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { IngestStatus, MediaMessage, PreferredInput } from '../types.ts'
import { Feeder } from './feeder.ts'
import type { GroupCacheLimits } from './group-cache.ts'
import type { Source } from './source.ts'

/** What is shown in place of a publisher that is away or silent, sent into the same source. */
export interface StandIn {
  readonly isShown: boolean
  /** Sends nothing any more. */
  end(): void
}

export interface PublisherPairOptions {
  readonly source: Source
  readonly standIn: StandIn
  readonly limits: GroupCacheLimits
  /** A publisher that has sent no frame for this long is replaced by one that does. */
  readonly takeOverMs: number
  readonly returns: ReturnLimits
  /** A message of the publisher that feeds the stream came in, to be relayed unless something stands in for it. */
  readonly onMedia: (message: MediaMessage, now: number) => void
  /** Another publisher feeds the stream from here on; `previous` is the one before, if there was one until now. */
  readonly onActive: (feeder: Feeder, previous: Feeder | null, reason: string) => void
  /** Another publisher's media is relayed from here on. */
  readonly onSwitch: () => void
  /** The stream has no publisher any more. */
  readonly onGone: (feeder: Feeder, reason: string) => void
}

/** When the preferred publisher takes over again after it has failed. Milliseconds. */
export interface ReturnLimits {
  /** How long it has to send without a gap. It doubles with each failure soon after a return. */
  readonly steadyMs: number
  readonly longestMs: number
  /** A failure later than this after it took over starts at `steadyMs` again. */
  readonly forgiveMs: number
}

/**
 * At most two publishers of one stream, of which one feeds it and the other stands by. The one that stands by takes over
 * when the other ends, or falls silent while it does not. A preferred publisher takes over when it comes, at its next
 * keyframe; after a failure it has to be steady first, each time for longer, so that a bad line does not cost a switch
 * each time that it comes and goes. Without a preference the one that feeds the stream stays. While something stands in,
 * a publisher replaces it as soon as a picture can follow.
 */
export class PublisherPair {
  readonly #options: PublisherPairOptions
  #active: Feeder | null = null
  #standby: Feeder | null = null
  #preferred: PreferredInput | undefined
  /** How long the preferred publisher has to be steady before it takes over. */
  #returnMs = 0
  /** Monotonic: when the present publisher began to feed the stream. */
  #activeSince = 0

  constructor(options: PublisherPairOptions) {
    this.#options = options
  }

  get active(): Feeder | null {
    return this.#active
  }

  get standby(): Feeder | null {
    return this.#standby
  }

  /**
   * Takes an admitted publisher. Of each kind there is one: an older one with the same key has ended before. Where files
   * are played beside both, there is one too many: the newest stands by.
   */
  attach(publisher: Publisher, source: IngestStatus['source']): void {
    const feeder = new Feeder(publisher, source, this.#options.limits, performance.now())
    publisher.onMessage = (message) => this.#message(feeder, message)
    publisher.onEnd = (reason) => this.#ended(feeder, reason)
    if (this.#active === null) this.#activate(feeder, null, 'came')
    else this.#standBy(feeder)
  }

  /** Whether a publisher is to replace the one that feeds the stream, though that one sends. Files are left to end. */
  #isPreferred(feeder: Feeder): boolean {
    return this.#active !== null && this.#active.source !== 'file' && feeder.source === this.#preferred?.source
  }

  /** Says which publisher is to feed the stream while both send. One that was selected takes over at once if it can. */
  prefer(preferred: PreferredInput | undefined): void {
    const before = this.#preferred
    this.#preferred = preferred
    const isNew = preferred?.source !== before?.source || preferred?.selected !== before?.selected
    const standby = this.#standby
    if (isNew && preferred?.selected && standby?.isReady && this.#isPreferred(standby)) this.#swap(standby, 'selected')
  }

  /** Drops the publishers that the condition names. The one standing by goes first: it must not take over meanwhile. */
  drop(reason: string, which: (feeder: Feeder) => boolean = () => true): void {
    for (const feeder of [this.#standby, this.#active]) {
      if (feeder !== null && which(feeder)) feeder.publisher.drop(reason)
    }
  }

  /** Ends what stands in, with nothing that could follow at once: a publisher goes on from its next keyframe. */
  dismissStandIn(): void {
    if (!this.#options.standIn.isShown) return
    if (this.#active === null) {
      this.#options.standIn.end()
      this.#options.source.attach()
    } else this.#relay(this.#active)
  }

  #standBy(feeder: Feeder): void {
    const before = this.#standby
    if (before !== null && before.source === this.#preferred?.source) {
      feeder.publisher.drop('another publisher stands by')
      return
    }
    this.#standby = feeder
    before?.publisher.drop('replaced')
  }

  #message(feeder: Feeder, message: MediaMessage): void {
    const now = performance.now()
    const active = this.#active
    const { onMedia, source, standIn } = this.#options
    feeder.note(message, now, feeder !== active || standIn.isShown)
    if (feeder === active) {
      onMedia(message, now)
      if (!standIn.isShown) source.push(message, now)
      else if (feeder.canReplace(now)) this.#relay(feeder)
    } else if (active !== null && feeder.isReady && now - active.lastFrameAt > this.#options.takeOverMs) {
      this.#noteFailure(active, now)
      this.#swap(feeder, 'silent')
    } else if (this.#isPreferred(feeder) && feeder.isReady && startsPicture(feeder, message)) {
      const { selected } = this.#preferred!
      if (selected || now - feeder.steadySince >= this.#returnMs)
        this.#swap(feeder, selected ? 'selected' : 'preferred')
    }
  }

  /** The one that stands by and the one that feeds the stream change places. */
  #swap(feeder: Feeder, reason: string): void {
    const active = this.#active
    this.#standby = active
    this.#activate(feeder, active, reason)
  }

  /** A publisher fails that feeds the stream: the preferred one has to prove itself for longer before it is back. */
  #noteFailure(feeder: Feeder, now: number): void {
    if (feeder.source !== this.#preferred?.source) return
    const { forgiveMs, longestMs, steadyMs } = this.#options.returns
    const isSoon = now - this.#activeSince < forgiveMs
    this.#returnMs = isSoon ? Math.min(longestMs, Math.max(steadyMs, this.#returnMs * 2)) : steadyMs
  }

  #ended(feeder: Feeder, reason: string): void {
    if (feeder === this.#standby) this.#standby = null
    if (feeder !== this.#active) return
    const successor = this.#standby
    this.#active = this.#standby = null
    this.#noteFailure(feeder, performance.now())
    if (successor === null) this.#options.onGone(feeder, reason)
    else this.#activate(successor, feeder, reason)
  }

  #activate(feeder: Feeder, previous: Feeder | null, reason: string): void {
    const { onActive, onSwitch, source, standIn } = this.#options
    this.#active = feeder
    this.#activeSince = performance.now()
    onActive(feeder, previous, reason)
    if (standIn.isShown && !feeder.canReplace(performance.now())) return
    if (previous === null && !standIn.isShown) {
      onSwitch()
      source.attach()
      feeder.letGo()
    } else this.#relay(feeder)
  }

  /** Goes on with what a publisher has sent lately. */
  #relay(feeder: Feeder): void {
    const { onSwitch, source, standIn } = this.#options
    onSwitch()
    standIn.end()
    source.takeOver(feeder.headers(), feeder.group(), performance.now())
    feeder.letGo()
  }
}

/** Whether a message is one to go on from: a keyframe, or anything where there are no pictures. */
function startsPicture(feeder: Feeder, { isHeader, isKeyframe, kind }: MediaMessage): boolean {
  return !isHeader && (kind === 'video' ? isKeyframe : !feeder.hasVideo)
}
