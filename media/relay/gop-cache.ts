import type { MediaKind } from '../types.ts'
import type { RelayMessage } from './relay-message.ts'

export interface GopLimits {
  readonly maxBytes: number
  readonly maxMessages: number
}

/** Audio messages kept from before the first keyframe: about two seconds of AAC. */
const MAX_LEADING_AUDIO = 100

/**
 * What an output needs to start at once: the decoder configurations and the current GOP. A GOP that exceeds the limits is
 * dropped, and outputs that join start with the next one.
 */
export class GopCache {
  readonly #limits: GopLimits
  readonly #headers = new Map<MediaKind, RelayMessage>()
  #gop: RelayMessage[] = []
  /** Audio from before the publisher's first keyframe, so that outputs that join in the first GOP get all audio. */
  #leadingAudio: RelayMessage[] = []
  #isFirst = true
  #bytes = 0
  #isOpen = false

  constructor(limits: GopLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  /** onMetaData, video configuration, audio configuration: the order in which encoders send them. */
  headers(): readonly RelayMessage[] {
    return (['data', 'video', 'audio'] as const).flatMap((kind) => this.#headers.get(kind) ?? [])
  }

  /** The current GOP from its keyframe on. Empty when there is none. */
  gop(): readonly RelayMessage[] {
    return this.#gop
  }

  add(message: RelayMessage): void {
    if (message.isSequenceHeader) {
      this.#headers.set(message.kind, message)
      // The frames before a new video configuration cannot be decoded with it.
      if (message.kind === 'video') this.#clear()
      return
    }
    if (message.kind === 'video' && message.isKeyframe) this.#startGop()
    if (!this.#isOpen) {
      if (this.#isFirst && message.kind === 'audio') this.#leadingAudio.push(message)
      if (this.#leadingAudio.length > MAX_LEADING_AUDIO) this.#leadingAudio.shift()
      return
    }
    this.#gop.push(message)
    this.#bytes += message.payload.length
    if (this.#bytes > this.#limits.maxBytes || this.#gop.length > this.#limits.maxMessages) this.#clear()
  }

  /** Clears everything for another publisher. */
  reset(): void {
    this.#clear()
    this.#headers.clear()
    this.#leadingAudio = []
    this.#isFirst = true
  }

  #startGop(): void {
    this.#clear()
    this.#isOpen = true
    if (!this.#isFirst) return
    this.#isFirst = false
    this.#gop = this.#leadingAudio
    this.#bytes = this.#leadingAudio.reduce((sum, message) => sum + message.payload.length, 0)
    this.#leadingAudio = []
  }

  #clear(): void {
    this.#gop = []
    this.#bytes = 0
    this.#isOpen = false
  }
}
