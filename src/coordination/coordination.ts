/**
 * How nodes of one installation tell each other things: fire-and-forget notices, each to every node that listens,
 * this one included. Notices may be lost when a link breaks; whoever depends on them reads the database again when
 * `onRecovered` says that the link is back.
 */
export interface Coordination {
  readonly kind: 'in-process' | 'redis'
  /** Sends a notice. Never throws and never waits; local listeners hear it at once, even without a link. */
  publish(channel: string, message: unknown): void
  /** Hears the notices of one channel, or of every channel that begins so when the name ends in `*`. */
  subscribe(channel: string, listener: Listener): () => void
  /** Called after notices may have been missed. */
  onRecovered(listener: () => void): () => void
  /** Whether other nodes hear us now. Always true in-process. */
  readonly linked: boolean
  /** Milliseconds of a round trip. @throws AppError redis_unavailable */
  ping(): Promise<number>
  close(): Promise<void>
}

export type Listener = (message: unknown, channel: string) => void

/** Keeps listeners by channel and by prefix, and calls them; what one throws does not reach the others. */
export class Listeners {
  readonly #exact = new Map<string, Set<Listener>>()
  readonly #prefixes = new Map<string, Set<Listener>>()
  readonly #onError: (error: unknown, channel: string) => void

  constructor(onError: (error: unknown, channel: string) => void) {
    this.#onError = onError
  }

  add(channel: string, listener: Listener): () => void {
    const [map, key] = channel.endsWith('*') ? [this.#prefixes, channel.slice(0, -1)] : [this.#exact, channel]
    const set = map.get(key) ?? new Set()
    map.set(key, set.add(listener))
    return () => {
      set.delete(listener)
      if (set.size === 0) map.delete(key)
    }
  }

  call(channel: string, message: unknown): void {
    for (const listener of this.#exact.get(channel) ?? []) this.#callOne(listener, channel, message)
    for (const [prefix, set] of this.#prefixes) {
      if (channel.startsWith(prefix)) for (const listener of set) this.#callOne(listener, channel, message)
    }
  }

  #callOne(listener: Listener, channel: string, message: unknown): void {
    try {
      listener(message, channel)
    } catch (error) {
      this.#onError(error, channel)
    }
  }
}
