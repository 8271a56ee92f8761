import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { IngestStatus, MediaMessage } from '../types.ts'
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
  /** A message of the publisher that feeds the stream came in, to be relayed unless something stands in for it. */
  readonly onMedia: (message: MediaMessage, now: number) => void
  /** Another publisher feeds the stream from here on; `previous` is the one before, if there was one until now. */
  readonly onActive: (feeder: Feeder, previous: Feeder | null, reason: string) => void
  /** What is relayed is this one's from here on. */
  readonly onSwitch: (feeder: Feeder) => void
  /** The stream has no publisher any more. */
  readonly onGone: (feeder: Feeder, reason: string) => void
}

/**
 * At most two publishers of one stream, of which one feeds it and the other stands by. The one that stands by takes over
 * when the other ends, or falls silent while it does not. It then stays: when the first comes back it stands by in turn,
 * so that an encoder with a bad line costs one switch and not one each time that the line comes and goes. While something
 * stands in, a publisher replaces it as soon as a picture can follow.
 */
export class PublisherPair {
  readonly #options: PublisherPairOptions
  #active: Feeder | null = null
  #standby: Feeder | null = null

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
      this.#standby = active
      this.#activate(feeder, active, 'silent')
    }
  }

  #ended(feeder: Feeder, reason: string): void {
    if (feeder === this.#standby) this.#standby = null
    if (feeder !== this.#active) return
    const successor = this.#standby
    this.#active = this.#standby = null
    if (successor === null) this.#options.onGone(feeder, reason)
    else this.#activate(successor, feeder, reason)
  }

  #activate(feeder: Feeder, previous: Feeder | null, reason: string): void {
    const { onActive, onSwitch, source, standIn } = this.#options
    this.#active = feeder
    onActive(feeder, previous, reason)
    if (standIn.isShown && !feeder.canReplace(performance.now())) return
    if (previous === null && !standIn.isShown) {
      onSwitch(feeder)
      source.attach()
      feeder.letGo()
    } else this.#relay(feeder)
  }

  /** Goes on with what a publisher has sent lately. */
  #relay(feeder: Feeder): void {
    const { onSwitch, source, standIn } = this.#options
    onSwitch(feeder)
    standIn.end()
    source.takeOver(feeder.headers(), feeder.group(), performance.now())
    feeder.letGo()
  }
}
