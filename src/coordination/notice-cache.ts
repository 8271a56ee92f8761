import type { Clock } from '../core/clock.ts'
import type { Coordination } from './coordination.ts'

export interface NoticeCacheOptions<V> {
  /** Notices travel on `<name>:<group>`. */
  readonly name: string
  readonly coordination: Coordination
  readonly clock: Clock
  /** Reads the truth; undefined is never kept, because it may come into being a moment later. */
  readonly load: (group: string, key: string) => Promise<V | undefined>
  /** Values kept at most; the groups that came first go first. */
  readonly most?: number
}

/** A notice that was lost without the link breaking is made up for within this time. */
const KEEP_MS = 30_000

interface Kept<V> {
  readonly value: V
  readonly until: number
}

/**
 * What was read from the database, kept until a notice says that its group has changed. While this node does not hear
 * the others nothing is kept; when it hears them again everything is forgotten.
 */
export class NoticeCache<V> {
  readonly #options: NoticeCacheOptions<V>
  readonly #most: number
  readonly #groups = new Map<string, Map<string, Kept<V>>>()
  readonly #listeners = new Set<(group: string | undefined) => void>()
  readonly #ends: (() => void)[]
  #size = 0
  /** Moves with every change, so that a value which was being read meanwhile is not kept. */
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

  /** At once when it is kept; otherwise from the database. */
  find(group: string, key = ''): V | undefined | Promise<V | undefined> {
    const kept = this.#groups.get(group)?.get(key)
    const fresh =
      kept !== undefined && kept.until > this.#options.clock.monotonic() && this.#options.coordination.linked
    return fresh ? kept.value : this.#load(group, key)
  }

  /** Makes every node forget a group. Called after the commit that changed it. */
  invalidate(group: string): void {
    this.#options.coordination.publish(`${this.#options.name}:${group}`, {})
  }

  /** Hears which group has changed, here or on another node; undefined: any may have. */
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
