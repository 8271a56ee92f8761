import type { MediaKind } from '../types.ts'
import type { RelayMessage } from './relay-message.ts'

export interface GroupCacheLimits {
  readonly maxBytes: number
  readonly maxMessages: number
}

/** About two seconds of AAC. */
const MOST_LEAD = 100

/**
 * What an output needs to start at once: the decoder configurations and the group of pictures that is under way. A
 * group beyond the limits is not kept at all: an output that joins then starts with the next one.
 */
export class GroupCache {
  readonly #limits: GroupCacheLimits
  readonly #headers = new Map<MediaKind, RelayMessage>()
  #group: RelayMessage[] = []
  /** Sound from before a publisher's first picture: whoever joins in its first group misses nothing. */
  #lead: RelayMessage[] = []
  #isFirst = true
  #bytes = 0
  #open = false

  constructor(limits: GroupCacheLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  /** onMetaData, then video, then audio configuration: the order in which encoders send them. */
  headers(): readonly RelayMessage[] {
    return (['data', 'video', 'audio'] as const).flatMap((kind) => this.#headers.get(kind) ?? [])
  }

  /** The group under way, from its keyframe on; empty when there is none. */
  group(): readonly RelayMessage[] {
    return this.#group
  }

  add(message: RelayMessage): void {
    if (message.isHeader) {
      this.#headers.set(message.kind, message)
      // A new video configuration does not fit the pictures before it.
      if (message.kind === 'video') this.#clear()
      return
    }
    if (message.kind === 'video' && message.isKeyframe) this.#begin()
    if (!this.#open) {
      if (this.#isFirst && message.kind === 'audio') this.#lead.push(message)
      if (this.#lead.length > MOST_LEAD) this.#lead.shift()
      return
    }
    this.#group.push(message)
    this.#bytes += message.payload.length
    if (this.#bytes > this.#limits.maxBytes || this.#group.length > this.#limits.maxMessages) this.#clear()
  }

  /** Another publisher: nothing that was cached describes what it sends. */
  reset(): void {
    this.#clear()
    this.#headers.clear()
    this.#lead = []
    this.#isFirst = true
  }

  #begin(): void {
    this.#clear()
    this.#open = true
    if (!this.#isFirst) return
    this.#isFirst = false
    this.#group = this.#lead
    this.#bytes = this.#lead.reduce((sum, message) => sum + message.payload.length, 0)
    this.#lead = []
  }

  #clear(): void {
    this.#group = []
    this.#bytes = 0
    this.#open = false
  }
}
