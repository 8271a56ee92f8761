import { OpenCalls, type Call } from './calls.ts'
import { systemClock, systemRandom, within } from './clock.ts'
import type { ClusterActorsOptions } from './cluster-options.ts'
import { Engine } from './engine.ts'
import { Lease } from './lease.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { LinkServer } from './links/link-server.ts'
import type { LinkResult } from './links/link.ts'
import { Links } from './links/links.ts'
import { DEFAULT_LINK_LIMITS } from './links/settings.ts'
import { Ownership } from './ownership.ts'
import type { Codec, NodeEntry, RandomSource, RuntimeClock } from './ports.ts'
import { Probe } from './probe.ts'
import { Receiver } from './receiver.ts'
import { RefusedError, type Actors, type ActorStats, type Command, type NodeOwnership } from './types.ts'

/** How long commands wait for the lease of a node to return before they are refused. */
const PATIENCE_MS = 2_000
const LONGEST_PAUSE_MS = 250
const MAX_LISTED = 10_000

/**
 * The driver for several nodes. The lease store names the owner of each actor, and other nodes forward commands to it. A
 * command whose outcome cannot be determined in time is refused, never guessed.
 */
export class ClusterActors implements Actors {
  readonly #options: ClusterActorsOptions
  readonly #clock: RuntimeClock
  readonly #random: RandomSource
  readonly #calls: OpenCalls
  readonly #engine: Engine
  readonly #lease: Lease
  readonly #ownership: Ownership
  readonly #links: Links
  readonly #server: LinkServer
  readonly #receiver: Receiver
  readonly #probe: Probe | undefined
  readonly #address: string
  #notLiveSince: number | undefined
  #closed = false
  #forwarded = 0
  #resent = 0

  /** Listens for links and takes a lease. Resolves even if the lease store is unreachable; commands then get `not_live`. */
  static async start(options: ClusterActorsOptions): Promise<ClusterActors> {
    if (options.secret.length < 32) throw new Error('the cluster secret must have at least 32 characters')
    const clock = options.clock ?? systemClock()
    const random = options.random ?? systemRandom
    const settings = {
      transport: options.transport,
      clock,
      random,
      secret: options.secret,
      limits: { ...DEFAULT_LINK_LIMITS, ...options.linkLimits },
      onError: (error: unknown) => options.onError?.(error),
    }
    let actors: ClusterActors | undefined
    const server = new LinkServer({
      ...settings,
      onRequest: (request, reply) => {
        if (actors === undefined) reply({ kind: 'refused', reason: 'not_live', retryAfter: 1 })
        else actors.#receiver.handle(request, reply)
      },
      onOwners: () => JSON.stringify(actors?.ownedHere() ?? []),
    })
    let address: string
    try {
      address = await server.listen()
    } catch (error) {
      await options.store.close()
      throw error
    }
    actors = new ClusterActors(options, clock, random, address, server, new Links(settings))
    actors.#lease.start()
    await actors.#lease.untilLive(PATIENCE_MS)
    return actors
  }

  private constructor(
    options: ClusterActorsOptions,
    clock: RuntimeClock,
    random: RandomSource,
    address: string,
    server: LinkServer,
    links: Links,
  ) {
    this.#options = options
    this.#clock = clock
    this.#random = random
    this.#address = address
    this.#server = server
    this.#links = links
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    const onError = (error: unknown, actor?: string) => options.onError?.(error, actor)
    this.#calls = new OpenCalls(clock, limits.perNode)
    this.#lease = new Lease({
      store: options.store,
      clock,
      random,
      address,
      ttlMs: options.ttlMs ?? 5_000,
      beatMs: options.beatMs ?? 1_000,
      selfFence: options.selfFence ?? true,
      onLost: () => {
        this.#ownership.loseAll()
        this.#engine.dropAll()
      },
      onBeat: () => {
        this.#notLiveSince = undefined
        this.#ownership.afterBeat()
        this.#links.keep(new Set(this.#lease.nodes.map((node) => node.address)))
      },
      onError,
    })
    this.#engine = new Engine({
      host: options.host,
      clock,
      limits,
      calls: this.#calls,
      onError: (actor, error) => onError(error, actor),
      mayAct: () => this.#lease.live,
      confirm: async (actor) => {
        const place = await this.#ownership.find(actor, { fresh: true })
        return place !== undefined && this.#ownership.isSelf(place) && this.#lease.live
      },
      reroute: (call) => (call.elsewhere ? call.elsewhere() : this.#later(call)),
      onForgotten: (actor) => void this.#ownership.handOver(actor, undefined),
    })
    this.#ownership = new Ownership({
      store: options.store,
      clock,
      lease: this.#lease,
      engine: this.#engine,
      handOverPerBeat: options.handOverPerBeat ?? 64,
      handOverMs: 700,
      onRelease: options.host.release && ((actor) => Promise.resolve(options.host.release?.(actor))),
      onNodeLost: () => options.onNodeLost?.(),
      onError,
    })
    this.#receiver = new Receiver({
      clock,
      codec: options.codec,
      calls: this.#calls,
      route: (call) => this.#serve(call),
    })
    const { host } = options
    if (host.probe)
      this.#probe = new Probe(
        clock,
        () => Promise.resolve(host.probe?.()),
        (ok) => this.#judged(ok),
      )
  }

  run(command: Command): Promise<unknown> {
    if (this.#closed) return Promise.reject(new RefusedError('closed'))
    return new Promise((resolve, reject) => {
      const call = this.#calls.open(command, resolve, reject)
      if (call) this.#route(call)
    })
  }

  /** Whether this node may run its actors, for health checks. */
  get live(): boolean {
    return this.#lease.live
  }

  stats(): ActorStats {
    const { size: waiting, overloaded, expired, unknown } = this.#calls
    const lease = this.#lease
    return {
      ...this.#engine.stats(),
      waiting,
      overloaded,
      expired,
      unknown,
      cluster: {
        inc: lease.inc,
        address: this.#address,
        state: lease.state,
        live: lease.live,
        leaseLeftMs: lease.leftMs,
        lostLeases: lease.lostLeases,
        owned: this.#ownership.size,
        nodes: lease.nodes.length,
        forwarded: this.#forwarded,
        received: this.#receiver.received,
        resent: this.#resent,
        handedOver: this.#ownership.handedOver,
        links: this.#links.stats(),
      },
    }
  }

  async owners(): Promise<readonly NodeOwnership[]> {
    return Promise.all(
      this.#lease.nodes.map(async (node) => {
        const actors = this.#ownership.isSelf(node) ? this.ownedHere() : await this.#links.owners(node.address, 1_000)
        return { ...node, reachable: actors !== undefined, actors: actors ?? [] }
      }),
    )
  }

  /** The actors that this node owns, at most 10,000. */
  ownedHere(): NodeOwnership['actors'] {
    return this.#ownership
      .actors()
      .slice(0, MAX_LISTED)
      .map((actor) => this.#engine.owned(actor))
  }

  async leave(withinMs: number): Promise<void> {
    const until = this.#clock.monotonic() + withinMs
    this.#probe?.close()
    const { onError } = this.#options
    await within(this.#clock, Math.min(300, withinMs / 3), this.#lease.enter('leaving'), onError)
    if (!this.#lease.live || !this.#ownership.hasHeirs) return
    const left = Math.max(0, until - this.#clock.monotonic())
    await within(this.#clock, left, this.#ownership.handOverAll(), onError)
  }

  /** Hands all actors over to other nodes, or finishes waiting commands if there are none, and stops. */
  async close(withinMs: number): Promise<void> {
    const until = this.#clock.monotonic() + withinMs
    const left = () => Math.max(0, until - this.#clock.monotonic())
    const { onError } = this.#options
    await this.leave(withinMs)
    this.#closed = true
    await this.#calls.drained(left())
    this.#calls.refuseAll()
    this.#engine.close()
    await within(this.#clock, Math.max(200, left()), this.#lease.close(), onError)
    this.#links.close()
    this.#server.close()
    await this.#options.store.close()
  }

  #route(call: Call): void {
    const { actor } = call.command
    if (this.#ownership.has(actor)) {
      this.#engine.submit(call)
      return
    }
    // The common case needs no promise.
    const place = this.#lease.live ? this.#ownership.elsewhere(actor) : undefined
    if (place) this.#forward(call, place)
    else void this.#seek(call)
  }

  async #seek(call: Call): Promise<void> {
    const { actor, deadline } = call.command
    if (!(await this.#haveLease(deadline))) {
      if (call.command.repeated === true) this.#later(call)
      else call.fail(new RefusedError('not_live'))
      return
    }
    const place = await this.#ownership.find(actor)
    if (call.settled) return
    if (place === undefined) this.#later(call)
    else if (!this.#ownership.isSelf(place)) this.#forward(call, place)
    else if (this.#ownership.has(actor)) this.#engine.submit(call)
    else this.#later(call)
  }

  /** Handles a command from another node. It runs here or is returned, but never forwarded again. */
  #serve(call: Call): void {
    if (this.#ownership.has(call.command.actor)) this.#engine.submit(call)
    else if (this.#lease.live) void this.#claim(call)
    else call.fail(new RefusedError('not_live'))
  }

  async #claim(call: Call): Promise<void> {
    const { actor } = call.command
    await this.#ownership.find(actor, { fresh: true })
    if (call.settled) return
    if (this.#ownership.has(actor)) this.#engine.submit(call)
    else call.elsewhere?.()
  }

  async #haveLease(deadline: number): Promise<boolean> {
    if (this.#lease.live) return true
    const now = this.#clock.monotonic()
    this.#notLiveSince ??= now
    return this.#lease.untilLive(Math.min(deadline, this.#notLiveSince + PATIENCE_MS) - now)
  }

  #forward(call: Call, place: NodeEntry): void {
    const { command } = call
    const link = this.#links.to(place.address)
    let text: string
    try {
      text = this.#options.codec.encode('payload', command.payload)
    } catch (error) {
      call.fail(error)
      return
    }
    call.underWay = true
    this.#forwarded += 1
    const id = link.call(
      {
        leftMs: command.deadline - this.#clock.monotonic(),
        control: command.priority === 'control',
        repeated: command.repeated === true,
        actor: command.actor,
        operationId: command.operationId,
        caller: command.caller,
        payload: text,
      },
      (answer) => this.#answered(call, answer),
    )
    if (id !== undefined) call.whenSettled = () => link.forget(id)
    else if (command.repeated === true) this.#later(call)
    else this.#calls.overload((error) => call.fail(error))
  }

  #answered(call: Call, answer: LinkResult): void {
    if (call.settled) return
    call.underWay = false
    const { codec, host } = this.#options
    switch (answer.kind) {
      case 'value':
      case 'error':
        this.#decode(call, codec, answer.kind, answer.text)
        return
      case 'refused':
        this.#refused(call, answer.reason, answer.retryAfter)
        return
      case 'lost':
      case 'unknown':
        if (host.remembersOutcomes) call.repeat()
        else {
          call.underWay = true
          this.#calls.expire(call)
          return
        }
        this.#resent += 1
        break
      default:
    }
    this.#ownership.doubt(call.command.actor)
    this.#later(call)
  }

  #decode(call: Call, codec: Codec, kind: 'value' | 'error', text: string): void {
    let data: unknown
    try {
      data = codec.decode(kind, text)
    } catch (error) {
      call.fail(error)
      return
    }
    if (kind === 'value') call.succeed(data)
    else call.fail(data)
  }

  #refused(call: Call, reason: RefusedError['reason'], retryAfter: number): void {
    if (reason === 'not_live' || reason === 'closed' || call.command.repeated === true) {
      this.#ownership.doubt(call.command.actor)
      this.#later(call)
    } else if (reason === 'unknown') {
      call.repeat()
      this.#calls.expire(call)
    } else call.fail(new RefusedError(reason, retryAfter))
  }

  /** Routes a command again: at once, then with growing pauses, until its deadline. */
  #later(call: Call): void {
    if (call.settled) return
    call.underWay = false
    call.whenSettled = undefined
    call.attempts += 1
    if (call.attempts === 1) {
      this.#clock.soon(() => this.#reroute(call))
      return
    }
    const ms = Math.min(LONGEST_PAUSE_MS, 5 * 2 ** Math.min(call.attempts, 10))
    this.#clock.after(ms * (0.5 + this.#random.fraction() / 2), () => this.#reroute(call))
  }

  #reroute(call: Call): void {
    if (!call.settled) this.#route(call)
  }

  /** Hands actors over while this node cannot commit, and takes them back after it has recovered. */
  #judged(healthy: boolean): void {
    if (this.#lease.state !== 'leaving') void this.#lease.enter(healthy ? 'active' : 'impaired')
  }
}
