import type { Clock } from '../core/clock.ts'
import type { Coordination } from './coordination.ts'

export interface NoticeCacheOptions<V> {
  /** Notices use the channel `<name>:<group>`. */
  readonly name: string
  readonly coordination: Coordination
  readonly clock: Clock
  /** Reads a value from the database. Undefined is not cached, because the row may be created a moment later. */
  readonly load: (group: string, key: string) => Promise<V | undefined>
  /** The maximum number of values. The oldest groups are dropped first. */
  readonly most?: number
}

/** Values expire after this time, in case a notice was lost while the connection was up. */
const KEEP_MS = 30_000

interface Kept<V> {
  readonly value: V
  readonly until: number
}

/**
 * Caches values of the database until a notice reports a change of their group. Nothing is cached while this node is not
 * connected to the others, and the cache is cleared when the connection returns.
 */
export class NoticeCache<V> {
  readonly #options: NoticeCacheOptions<V>
  readonly #most: number
  readonly #groups = new Map<string, Map<string, Kept<V>>>()
  readonly #listeners = new Set<(group: string | undefined) => void>()
  readonly #ends: (() => void)[]
  #size = 0
  /** Incremented by every change, so that a value that was being read at the time is not cached. */
  #generation = 0

  constructor(options: NoticeCacheOptions<V>) {
    this.#options = options
    this.#most = options.most ?? 50_000
    const { coordination, name } = options
    this.#ends = [
      coordination.subscribe(`${name}:*`, (_message, channel) => this.#forget(channel.slice(name.length + 1))),
      coordination.onRecovered(() => this.#forget(undefined)),
    ]
  }

  /** Returns a cached value at once, or reads it from the database. */
  find(group: string, key = ''): V | undefined | Promise<V | undefined> {
    const kept = this.#groups.get(group)?.get(key)
    const fresh =
      kept !== undefined && kept.until > this.#options.clock.monotonic() && this.#options.coordination.linked
    return fresh ? kept.value : this.#load(group, key)
  }

  /** Makes all nodes drop a group. To be called after the commit of a change. */
  invalidate(group: string): void {
    this.#options.coordination.publish(`${this.#options.name}:${group}`, {})
  }

  /** Subscribes to changed groups, on any node. Undefined means that any group may have changed. */
  onInvalidated(listener: (group: string | undefined) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  async #load(group: string, key: string): Promise<V | undefined> {
    const generation = this.#generation
    const value = await this.#options.load(group, key)
    if (value !== undefined && generation === this.#generation && this.#options.coordination.linked) {
      this.#keep(group, key, value)
    }
    return value
  }

  #keep(group: string, key: string, value: V): void {
    const rows = this.#groups.get(group) ?? new Map<string, Kept<V>>()
    if (!rows.has(key)) this.#size += 1
    this.#groups.set(group, rows.set(key, { value, until: this.#options.clock.monotonic() + KEEP_MS }))
    while (this.#size > this.#most) {
      const oldest = this.#groups.keys().next().value
      if (oldest === undefined) break
      this.#drop(oldest)
    }
  }

  #drop(group: string): void {
    this.#size -= this.#groups.get(group)?.size ?? 0
    this.#groups.delete(group)
  }

  #forget(group: string | undefined): void {
    this.#generation += 1
    if (group === undefined) {
      this.#groups.clear()
      this.#size = 0
    } else {
      this.#drop(group)
    }
    for (const listener of this.#listeners) listener(group)
  }
}
