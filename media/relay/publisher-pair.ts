import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { IngestStatus, MediaMessage, PreferredInput } from '../types.ts'
import type { GopLimits } from './gop-cache.ts'
import type { Source } from './source.ts'
import { StreamInput } from './stream-input.ts'

/** The slate, which writes to the same source while the publisher is away or sends nothing. */
export interface ShownSlate {
  readonly isShown: boolean
  /** Stops sending the slate. */
  end(): void
}

export interface PublisherPairOptions {
  readonly source: Source
  readonly slate: ShownSlate
  readonly limits: GopLimits
  /** After this long without a frame of the active publisher, the one on standby takes over if it sends. Milliseconds. */
  readonly takeOverMs: number
  readonly failback: FailbackLimits
  /** A message of the active publisher arrived. It is relayed after this call, unless the slate is shown. */
  readonly onMedia: (message: MediaMessage, now: number) => void
  /** Another publisher is active from now on. `previous` was active until now, or null if there was none. */
  readonly onActive: (input: StreamInput, previous: StreamInput | null, reason: string) => void
  /** Another publisher's media is relayed from now on. */
  readonly onSwitch: () => void
  /** The active publisher ended, and there is no other one. */
  readonly onGone: (input: StreamInput, reason: string) => void
}

/** When the preferred publisher becomes active again after a failure. Milliseconds. */
export interface FailbackLimits {
  /** How long it must send without a gap. This doubles with each failure soon after a failback. */
  readonly steadyMs: number
  readonly maxSteadyMs: number
  /** A failure this long after it became active counts as the first one again. */
  readonly resetMs: number
}

/**
 * The publishers of one stream: one is active and feeds the stream, another one can be on standby. The one on standby
 * takes over when the active one ends, or sends nothing while the other one does. A preferred publisher takes over when
 * it connects, at its next keyframe. After a failure it must first be steady, for longer each time, so that an unstable
 * network does not cause a switch at every reconnect. Without a preference the active publisher stays. A publisher
 * replaces the slate as soon as it can continue with a keyframe.
 */
export class PublisherPair {
  readonly #options: PublisherPairOptions
  #active: StreamInput | null = null
  #standby: StreamInput | null = null
  #preferred: PreferredInput | undefined
  /** How long the preferred publisher must be steady before it takes over. */
  #failbackMs = 0
  /** When the active publisher became active, monotonic. */
  #activeSince = 0

  constructor(options: PublisherPairOptions) {
    this.#options = options
  }

  get active(): StreamInput | null {
    return this.#active
  }

  get standby(): StreamInput | null {
    return this.#standby
  }

  /**
   * Adds an admitted publisher. An older publisher with the same key has already ended, so there is one per key. Playout
   * can be a third one. Then the newest is on standby, and the previous standby is dropped unless it is preferred.
   */
  attach(publisher: Publisher, source: IngestStatus['source']): void {
    const input = new StreamInput(publisher, source, this.#options.limits, performance.now())
    publisher.onMessage = (message) => this.#onMessage(input, message)
    publisher.onEnd = (reason) => this.#onEnd(input, reason)
    if (this.#active === null) this.#activate(input, null, 'connected')
    else this.#addStandby(input)
  }

  /** Whether a publisher should replace the active one although that one sends. Playout is never replaced this way. */
  #isPreferred(input: StreamInput): boolean {
    return this.#active !== null && this.#active.source !== 'file' && input.source === this.#preferred?.source
  }

  /** Sets which publisher is active while both send. A newly selected one takes over at once if it is ready. */
  prefer(preferred: PreferredInput | undefined): void {
    const before = this.#preferred
    this.#preferred = preferred
    const isNew = preferred?.source !== before?.source || preferred?.selected !== before?.selected
    const standby = this.#standby
    if (isNew && preferred?.selected && standby?.isReady && this.#isPreferred(standby)) this.#swap(standby, 'selected')
  }

  /** Drops the publishers that `matches` selects. The standby goes first, so that it does not take over. */
  drop(reason: string, matches: (input: StreamInput) => boolean = () => true): void {
    for (const input of [this.#standby, this.#active]) {
      if (input !== null && matches(input)) input.publisher.drop(reason)
    }
  }

  /** Ends the slate although no publisher is ready to replace it. An active publisher continues from its next keyframe. */
  endSlate(): void {
    if (!this.#options.slate.isShown) return
    if (this.#active === null) {
      this.#options.slate.end()
      this.#options.source.attach()
    } else this.#relay(this.#active)
  }

  #addStandby(input: StreamInput): void {
    const before = this.#standby
    if (before !== null && before.source === this.#preferred?.source) {
      input.publisher.drop('another publisher is on standby')
      return
    }
    this.#standby = input
    before?.publisher.drop('replaced')
  }

  #onMessage(input: StreamInput, message: MediaMessage): void {
    const now = performance.now()
    const active = this.#active
    const { onMedia, slate, source } = this.#options
    input.note(message, now, input !== active || slate.isShown)
    if (input === active) {
      onMedia(message, now)
      if (!slate.isShown) source.push(message, now)
      else if (input.canReplaceSlate(now)) this.#relay(input)
    } else if (active !== null && input.isReady && now - active.lastFrameAt > this.#options.takeOverMs) {
      this.#noteFailure(active, now)
      this.#swap(input, 'silent')
    } else if (this.#isPreferred(input) && input.isReady && isSwitchPoint(input, message)) {
      const { selected } = this.#preferred!
      if (selected || now - input.steadySince >= this.#failbackMs)
        this.#swap(input, selected ? 'selected' : 'preferred')
    }
  }

  /** Makes the publisher on standby active and the active one the standby. */
  #swap(input: StreamInput, reason: string): void {
    const active = this.#active
    this.#standby = active
    this.#activate(input, active, reason)
  }

  /** Records a failure of the active publisher. If it is the preferred one, its next failback takes longer. */
  #noteFailure(input: StreamInput, now: number): void {
    if (input.source !== this.#preferred?.source) return
    const { maxSteadyMs, resetMs, steadyMs } = this.#options.failback
    const isSoon = now - this.#activeSince < resetMs
    this.#failbackMs = isSoon ? Math.min(maxSteadyMs, Math.max(steadyMs, this.#failbackMs * 2)) : steadyMs
  }

  #onEnd(input: StreamInput, reason: string): void {
    if (input === this.#standby) this.#standby = null
    if (input !== this.#active) return
    const successor = this.#standby
    this.#active = this.#standby = null
    this.#noteFailure(input, performance.now())
    if (successor === null) this.#options.onGone(input, reason)
    else this.#activate(successor, input, reason)
  }

  #activate(input: StreamInput, previous: StreamInput | null, reason: string): void {
    const { onActive, onSwitch, slate, source } = this.#options
    this.#active = input
    this.#activeSince = performance.now()
    onActive(input, previous, reason)
    if (slate.isShown && !input.canReplaceSlate(performance.now())) return
    if (previous === null && !slate.isShown) {
      onSwitch()
      source.attach()
      input.clear()
    } else this.#relay(input)
  }

  /** Relays a publisher from its buffered media on. */
  #relay(input: StreamInput): void {
    const { onSwitch, slate, source } = this.#options
    onSwitch()
    slate.end()
    source.takeOver(input.headers(), input.gop(), performance.now())
    input.clear()
  }
}

/** Whether relaying can switch to a publisher at this message: a keyframe, or any frame if it sends no video. */
function isSwitchPoint(input: StreamInput, { isSequenceHeader, isKeyframe, kind }: MediaMessage): boolean {
  return !isSequenceHeader && (kind === 'video' ? isKeyframe : !input.hasVideo)
}
