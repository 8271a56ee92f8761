/**
 * Fire-and-forget notices between the nodes of an installation, including the sending node. Notices may be lost when a
 * connection breaks. Users that depend on them read the database again after `onRecovered`.
 */
export interface Coordination {
  readonly kind: 'in-process' | 'redis'
  /** Sends a notice. Never throws and never waits. Local listeners get it at once, even without a connection. */
  publish(channel: string, message: unknown): void
  /** Subscribes to one channel, or, with a `*` at the end, to all channels with this prefix. */
  subscribe(channel: string, listener: Listener): () => void
  /** Adds a listener that is called after notices may have been missed, and by `readAgain`. */
  onRecovered(listener: () => void): () => void
  /** Calls the listeners of `onRecovered` on this node, because what they have read may have changed without a notice. */
  readAgain(): void
  /** Whether this node is connected to the others. Always true in-process. */
  readonly linked: boolean
  /** Measures a round trip, in milliseconds. @throws AppError redis_unavailable */
  ping(): Promise<number>
  /** What an operator should change, as sentences; empty without a connection. */
  warnings(): Promise<string[]>
  close(): Promise<void>
}

export type Listener = (message: unknown, channel: string) => void

/** Listeners by channel and by prefix. An error in one does not affect the others. */
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
