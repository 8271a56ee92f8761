import { within } from './clock.ts'
import type { Engine } from './engine.ts'
import type { Lease } from './lease.ts'
import { placeOf } from './placement.ts'
import type { LeaseStore, NodeEntry, RuntimeClock } from './ports.ts'

const MOST_PLACES = 50_000
/** Claims are asked for again long before the store forgets them. */
const REFRESH_AFTER_MS = 3_600_000
const REFRESH_PER_BEAT = 64
/** How long a node has to be there before it is given actors, and be impaired before it gives them away. */
const NEWCOMER_MS = 1_500
const IMPAIRED_MS = 900
/** How long the host may take over an actor that is given up. */
const RELEASE_MS = 200

export interface OwnershipOptions {
  readonly store: LeaseStore
  readonly clock: RuntimeClock
  readonly lease: Lease
  readonly engine: Engine
  /** Actors handed over in one beat when nodes have come or gone. */
  readonly handOverPerBeat: number
  /** Milliseconds that a batch under way may take when its actor is handed over. */
  readonly handOverMs: number
  /** Tells the host that an actor is given up. */
  readonly onRelease: ((actor: string) => Promise<void>) | undefined
  /** A node is gone that had not said that it leaves. */
  readonly onNodeLost: () => void
  readonly onError: (error: unknown) => void
}

/** Which actors this node owns, where the others are, and who should have them. */
export class Ownership {
  readonly #options: OwnershipOptions
  readonly #lease: Lease
  readonly #owned = new Map<string, number>()
  readonly #places = new Map<string, NodeEntry>()
  readonly #locating = new Map<string, Promise<NodeEntry | undefined>>()
  readonly #handing = new Map<string, Promise<void>>()
  #directory = ''
  /** Living nodes and their states, with when this node first saw them so. */
  #known = new Map<string, { readonly node: NodeEntry; readonly since: number }>()
  #unbalanced = false
  handedOver = 0

  constructor(options: OwnershipOptions) {
    this.#options = options
    this.#lease = options.lease
  }

  get size(): number {
    return this.#owned.size
  }

  actors(): string[] {
    return [...this.#owned.keys()]
  }

  /** Whether this node may run the actor at this moment. */
  has(actor: string): boolean {
    return this.#owned.has(actor) && this.#lease.live
  }

  /** The node that is known to own an actor, when it is another one and the actor is not being handed over. */
  elsewhere(actor: string): NodeEntry | undefined {
    return this.#handing.has(actor) ? undefined : this.#places.get(actor)
  }

  /** The owner, from memory or from the lease store, which makes one of the living if there is none. */
  async find(actor: string, options: { readonly fresh?: boolean } = {}): Promise<NodeEntry | undefined> {
    await this.#handing.get(actor)
    const known = options.fresh ? undefined : this.#places.get(actor)
    if (known) return known
    let asked = this.#locating.get(actor)
    if (asked === undefined) {
      asked = this.#locate(actor).finally(() => this.#locating.delete(actor))
      this.#locating.set(actor, asked)
    }
    return asked
  }

  /** The place of an actor turned out to be wrong or out of reach. */
  doubt(actor: string): void {
    this.#places.delete(actor)
  }

  isSelf(place: NodeEntry): boolean {
    return place.inc === this.#lease.inc
  }

  /** The lease is gone: nothing is owned any more. */
  loseAll(): void {
    this.#owned.clear()
    this.#places.clear()
  }

  /** Gives an actor up, to its heir if it has one. What waits for it is routed anew when that is done. */
  handOver(actor: string, heir: string | undefined): Promise<void> {
    const known = this.#handing.get(actor)
    if (known) return known
    const { inc } = this.#lease
    this.#owned.delete(actor)
    const done = this.#handOver(actor, inc, heir).finally(() => this.#handing.delete(actor))
    this.#handing.set(actor, done)
    return done
  }

  /** Gives everything up, to whom it belongs when this node is gone. */
  async handOverAll(): Promise<void> {
    const others = this.#others()
    const actors = this.actors()
    while (actors.length > 0) {
      const some = actors.splice(0, 256)
      await Promise.all(some.map((actor) => this.handOver(actor, placeOf(actor, others)?.inc)))
    }
    await Promise.all(this.#handing.values())
  }

  /** Whether another node takes actors. */
  get hasHeirs(): boolean {
    return this.#others().some((node) => node.state === 'active')
  }

  /** Looks at the directory after a beat: forgets places that are gone, hands over what belongs elsewhere, in portions. */
  afterBeat(): void {
    const { nodes } = this.#lease
    const directory = nodes
      .map((node) => `${node.inc} ${node.state}`)
      .sort()
      .join('\n')
    if (directory !== this.#directory) {
      this.#directory = directory
      this.#unbalanced = true
      this.#meet(nodes)
      const living = new Set(nodes.map((node) => node.inc))
      for (const [actor, place] of this.#places) if (!living.has(place.inc)) this.#places.delete(actor)
    }
    if (this.#unbalanced) this.#balance()
    this.#refresh()
  }

  #others(): NodeEntry[] {
    return this.#lease.nodes.filter((node) => node.inc !== this.#lease.inc)
  }

  #meet(nodes: readonly NodeEntry[]): void {
    const now = this.#options.clock.monotonic()
    const before = this.#known
    this.#known = new Map(
      nodes.map((node) => {
        const known = before.get(node.inc)
        return [node.inc, known?.node.state === node.state ? known : { node, since: now }]
      }),
    )
    const self = nodes.find(({ inc }) => inc === this.#lease.inc)
    const isLost = ({ node }: { readonly node: NodeEntry }) =>
      !this.#known.has(node.inc) && node.state !== 'leaving' && node.address !== self?.address
    if ([...before.values()].some(isLost)) this.#options.onNodeLost()
  }

  /** A node that came a moment ago may go again: it gets nothing before it has stayed for two beats. */
  #settled(node: NodeEntry, ms = NEWCOMER_MS): boolean {
    const known = this.#known.get(node.inc)
    return known?.node.state === node.state && this.#options.clock.monotonic() - known.since >= ms
  }

  #balance(): void {
    const { nodes, inc } = this.#lease
    const self = nodes.find((node) => node.inc === inc)
    if (self === undefined || self.state === 'leaving') return
    // When all nodes lose the database, none of them is better than another: they will know of each other by then.
    if (self.state === 'impaired' && !this.#settled(self, IMPAIRED_MS)) return
    let left = self.state === 'impaired' ? Number.POSITIVE_INFINITY : this.#options.handOverPerBeat
    let young = nodes.some((node) => !this.#settled(node))
    const busy: [string, string][] = []
    for (const actor of this.#owned.keys()) {
      const place = placeOf(actor, nodes)
      if (place === undefined || place.inc === inc || !this.#settled(place)) continue
      if (left === 0) {
        young = true
        break
      }
      if (!this.#options.engine.isIdle(actor)) {
        busy.push([actor, place.inc])
        continue
      }
      left -= 1
      void this.handOver(actor, place.inc)
    }
    for (const [actor, heir] of busy.slice(0, left)) void this.handOver(actor, heir)
    this.#unbalanced = young || busy.length > left
  }

  #refresh(): void {
    const old = this.#options.clock.monotonic() - REFRESH_AFTER_MS
    let left = REFRESH_PER_BEAT
    for (const [actor, askedAt] of this.#owned) {
      if (askedAt > old || left === 0) return
      left -= 1
      this.#owned.delete(actor)
      this.#owned.set(actor, this.#options.clock.monotonic())
      void this.#locate(actor)
    }
  }

  async #locate(actor: string): Promise<NodeEntry | undefined> {
    const { inc, nodes, state } = this.#lease
    const preferred = placeOf(actor, nodes)?.inc
    const mayTake = state === 'active' || !this.hasHeirs
    const candidates = new Set([preferred, mayTake ? inc : undefined].filter((name) => name !== undefined))
    let place: NodeEntry | undefined
    try {
      place = await this.#options.store.locate(actor, [...candidates])
    } catch (error) {
      this.#options.onError(error)
      return undefined
    }
    if (place === undefined || inc !== this.#lease.inc) return undefined
    if (place.inc === inc) {
      if (this.#handing.has(actor)) return undefined
      if (!this.#owned.has(actor)) this.#owned.set(actor, this.#options.clock.monotonic())
    } else {
      if (this.#owned.delete(actor)) void this.#options.engine.quiesce(actor, this.#options.handOverMs)
      this.#remember(actor, place)
    }
    return place
  }

  #remember(actor: string, place: NodeEntry): void {
    if (this.#places.size >= MOST_PLACES) {
      const [oldest] = this.#places.keys()
      if (oldest !== undefined) this.#places.delete(oldest)
    }
    this.#places.set(actor, place)
  }

  async #handOver(actor: string, inc: string, heir: string | undefined): Promise<void> {
    const { clock, engine, handOverMs, onError, onRelease } = this.#options
    await engine.quiesce(actor, handOverMs)
    if (onRelease) await within(clock, RELEASE_MS, onRelease(actor), onError)
    this.handedOver += heir === undefined ? 0 : 1
    await this.#options.store.release(actor, inc, heir).catch(onError)
  }
}
