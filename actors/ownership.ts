import { within } from './clock.ts'
import type { Engine } from './engine.ts'
import type { Lease } from './lease.ts'
import { placeOf } from './placement.ts'
import type { LeaseStore, NodeEntry, RuntimeClock } from './ports.ts'

const MAX_PLACES = 50_000
/** How often claims are renewed: long before the store drops them. */
const REFRESH_AFTER_MS = 3_600_000
const REFRESH_PER_BEAT = 64
/** How long a node must be alive before it gets actors, and impaired before it hands them over. */
const NEWCOMER_MS = 1_500
const IMPAIRED_MS = 900
/** How long the host may take to release an actor. */
const RELEASE_MS = 200

export interface OwnershipOptions {
  readonly store: LeaseStore
  readonly clock: RuntimeClock
  readonly lease: Lease
  readonly engine: Engine
  /** Actors handed over per heartbeat after nodes have joined or left. */
  readonly handOverPerBeat: number
  /** Milliseconds to wait for a batch in progress when its actor is handed over. */
  readonly handOverMs: number
  /** Tells the host that an actor is released. */
  readonly onRelease: ((actor: string) => Promise<void>) | undefined
  /** Called when a node has disappeared without leaving properly. */
  readonly onNodeLost: () => void
  readonly onError: (error: unknown) => void
}

/** The actors of this node, the owners of other actors, and the placement of actors on nodes. */
export class Ownership {
  readonly #options: OwnershipOptions
  readonly #lease: Lease
  readonly #owned = new Map<string, number>()
  readonly #places = new Map<string, NodeEntry>()
  readonly #locating = new Map<string, Promise<NodeEntry | undefined>>()
  readonly #handing = new Map<string, Promise<void>>()
  #directory = ''
  /** The state of each living node, and since when this node has seen it. */
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

  /** Whether this node may run the actor now. */
  has(actor: string): boolean {
    return this.#owned.has(actor) && this.#lease.live
  }

  /** The known owner of an actor, if it is another node and the actor is not being handed over. */
  elsewhere(actor: string): NodeEntry | undefined {
    return this.#handing.has(actor) ? undefined : this.#places.get(actor)
  }

  /** The owner from memory or from the lease store. The store assigns a living node if there is none. */
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

  /** Drops the known owner of an actor, which was wrong or unreachable. */
  doubt(actor: string): void {
    this.#places.delete(actor)
  }

  isSelf(place: NodeEntry): boolean {
    return place.inc === this.#lease.inc
  }

  /** Drops all owned actors after the lease was lost. */
  loseAll(): void {
    this.#owned.clear()
    this.#places.clear()
  }

  /** Releases an actor, to its next owner if there is one. Waiting commands are then rerouted. */
  handOver(actor: string, heir: string | undefined): Promise<void> {
    const known = this.#handing.get(actor)
    if (known) return known
    const { inc } = this.#lease
    this.#owned.delete(actor)
    const done = this.#handOver(actor, inc, heir).finally(() => this.#handing.delete(actor))
    this.#handing.set(actor, done)
    return done
  }

  /** Releases all actors, each to the node that should own it once this one has left. */
  async handOverAll(): Promise<void> {
    const others = this.#others()
    const actors = this.actors()
    while (actors.length > 0) {
      const some = actors.splice(0, 256)
      await Promise.all(some.map((actor) => this.handOver(actor, placeOf(actor, others)?.inc)))
    }
    await Promise.all(this.#handing.values())
  }

  /** Whether another node can take actors. */
  get hasHeirs(): boolean {
    return this.#others().some((node) => node.state === 'active')
  }

  /** Updates ownership after a heartbeat: drops dead owners, and hands over misplaced actors in portions. */
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

  /** Excludes nodes that have just joined. A node gets actors only after two heartbeats. */
  #settled(node: NodeEntry, ms = NEWCOMER_MS): boolean {
    const known = this.#known.get(node.inc)
    return known?.node.state === node.state && this.#options.clock.monotonic() - known.since >= ms
  }

  #balance(): void {
    const { nodes, inc } = this.#lease
    const self = nodes.find((node) => node.inc === inc)
    if (self === undefined || self.state === 'leaving') return
    // If all nodes lose the database, none of them is better. They learn about each other during this time.
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
    if (inc !== this.#lease.inc) return undefined
    place ??= candidates.has(inc) ? this.#alone() : undefined
    if (place === undefined) return undefined
    if (place.inc === inc) {
      if (this.#handing.has(actor)) return undefined
      if (!this.#owned.has(actor)) this.#owned.set(actor, this.#options.clock.monotonic())
    } else {
      if (this.#owned.delete(actor)) void this.#options.engine.quiesce(actor, this.#options.handOverMs)
      this.#remember(actor, place)
    }
    return place
  }

  /**
   * This node, if the store has removed the session that this node holds, and the node knows no other one. A Redis with a
   * policy other than noeviction does so when it is full. The epoch in the database decides, should there be others.
   */
  #alone(): NodeEntry | undefined {
    const { inc, live, nodes } = this.#lease
    return live && nodes.length === 1 ? nodes.find((node) => node.inc === inc) : undefined
  }

  #remember(actor: string, place: NodeEntry): void {
    this.#places.set(actor, place)
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= MAX_PLACES) return
      this.#places.delete(oldest)
    }
  }

  async #handOver(actor: string, inc: string, heir: string | undefined): Promise<void> {
    const { clock, engine, handOverMs, onError, onRelease } = this.#options
    await engine.quiesce(actor, handOverMs)
    if (onRelease) await within(clock, RELEASE_MS, onRelease(actor), onError)
    this.handedOver += heir === undefined ? 0 : 1
    await this.#options.store.release(actor, inc, heir).catch(onError)
  }
}
