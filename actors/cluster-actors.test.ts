import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterActors } from './cluster-actors.ts'
import type { ClusterActorsOptions } from './cluster-options.ts'
import { FencedError, type ActorHost, type Command, type NodeOwnership, type Outcome } from './index.ts'
import { placeOf } from './placement.ts'
import { jsonCodec, type NodeEntry } from './ports.ts'
import { SimProcess } from './simulation/process.ts'
import { SeededRandom } from './simulation/random.ts'
import { Scheduler } from './simulation/scheduler.ts'
import { SimNetwork } from './simulation/sim-network.ts'
import { SimRedis } from './simulation/sim-redis.ts'

// Nodes with the real runtime in virtual time. Only the faults that a test causes happen.

const SECRET = 'a secret that all nodes of these tests share'

let scheduler: Scheduler
let redis: SimRedis
let network: SimNetwork
/** The database: epochs by actor, and outcomes by operation. */
let epochs: Map<string, number>
let effects: string[]
let nodes: Node[]

interface Node {
  readonly actors: ClusterActors
  readonly process: SimProcess
  readonly lost: number[]
  readonly errors: unknown[]
  /** Actors that were looked up in the lease store. */
  readonly located: string[]
}

type Options = Partial<ClusterActorsOptions> & { readonly name?: string; readonly gate?: Promise<unknown> }

beforeEach(() => {
  const random = new SeededRandom(1)
  scheduler = new Scheduler()
  redis = new SimRedis(scheduler, random)
  network = new SimNetwork(scheduler, random)
  epochs = new Map()
  effects = []
  nodes = []
})

afterEach(async () => {
  redis.heal()
  network.heal()
  const all = nodes.filter(({ process }) => !process.crashed)
  await outcome(Promise.all(all.map(({ actors }) => actors.close(500))))
  await pass(5_000)
  // A closed runtime leaves nothing behind, whatever the test did.
  if (nodes.length === all.length) expect(scheduler.waiting).toBe(0)
})

const hostOf = (gate?: Promise<unknown>): ActorHost => ({
  remembersOutcomes: true,
  activate: async (actor) => {
    epochs.set(actor, (epochs.get(actor) ?? 0) + 1)
    return epochs.get(actor) as number
  },
  execute: async (actor, epoch, commands): Promise<readonly Outcome[]> => {
    await gate
    if (epochs.get(actor) !== epoch) throw new FencedError('another epoch')
    return commands.map(({ operationId, payload, repeated }) => {
      if (payload === 'refuse') return { ok: false, error: new TypeError('no') }
      // A repeated command gets its earlier outcome.
      if (repeated !== true || !effects.includes(operationId)) effects.push(operationId)
      return { ok: true, value: `did ${operationId}` }
    })
  },
})

async function join({ name = `node${nodes.length}:1`, gate, ...options }: Options = {}): Promise<Node> {
  const process = new SimProcess(name, scheduler, 1, 0)
  const [lost, errors, located]: [number[], unknown[], string[]] = [[], [], []]
  const store = redis.storeFor(process)
  const starting = ClusterActors.start({
    host: hostOf(gate),
    codec: jsonCodec,
    store: {
      ...store,
      locate: (actor, candidates) => {
        located.push(actor)
        return store.locate(actor, candidates)
      },
    },
    transport: network.transportFor(process),
    secret: SECRET,
    clock: process.clock,
    random: new SeededRandom(nodes.length + 2),
    onNodeLost: () => void lost.push(scheduler.now),
    onError: (error) => void errors.push(error),
    ...options,
  })
  const { value } = await outcome(starting)
  const node = { actors: value as ClusterActors, process, lost, errors, located }
  nodes.push(node)
  return node
}

/** Nodes that know each other and may own actors. */
async function cluster(count: number, options: Options = {}): Promise<Node[]> {
  for (let index = 0; index < count; index += 1) await join(options)
  await pass(3_000)
  return [...nodes]
}

/** Lets promises settle that depend on no timer. */
const settle = () => new Promise((resolve) => void setImmediate(resolve))

async function pass(ms: number, done?: () => boolean): Promise<void> {
  const until = scheduler.now + ms
  await settle()
  await scheduler.run(until, done)
}

/** The result of a promise in virtual time, and when it settled. */
async function outcome(promise: Promise<unknown>, withinMs = 20_000) {
  let settled: { value?: unknown; error?: unknown; at: number } | undefined
  promise.then(
    (value) => (settled = { value, at: scheduler.now }),
    (error: unknown) => (settled = { error, at: scheduler.now }),
  )
  await pass(withinMs, () => settled !== undefined)
  if (settled === undefined) throw new Error('the promise did not settle in time')
  return settled
}

const entries = (): NodeEntry[] => nodes.map(({ process: { name } }) => ({ inc: name, address: name, state: 'active' }))

/** Names of actors that belong to a node. */
function actorsOf(node: Node | undefined, count = 1): string[] {
  const found: string[] = []
  for (let index = 0; found.length < count; index += 1) {
    if (placeOf(`ws:${index}`, entries())?.address === node?.process.name) found.push(`ws:${index}`)
  }
  return found
}

function command(node: Node, actor: string, operationId: string, changes: Partial<Command> = {}): Command {
  const deadline = node.process.clock.monotonic() + 5_000
  return { actor, operationId, caller: 'ada', deadline, payload: operationId, ...changes }
}

const run = (node: Node, actor: string, operationId: string, changes: Partial<Command> = {}) =>
  node.actors.run(command(node, actor, operationId, changes))

function gateOf() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { gate: promise, open: resolve }
}

const reasonIn = ({ error }: { readonly error?: unknown }) => (error as { reason?: string } | undefined)?.reason

describe('a command', () => {
  it('runs on the node that owns its actor, whichever node gets it', async () => {
    const [one, two] = (await cluster(2)) as [Node, Node]
    const [actor] = actorsOf(two) as [string]
    expect(await outcome(run(one, actor, 'first'))).toMatchObject({ value: 'did first' })
    expect(await outcome(run(two, actor, 'second'))).toMatchObject({ value: 'did second' })
    expect(one.actors.stats()).toMatchObject({
      active: 0,
      turns: 0,
      waiting: 0,
      cluster: { forwarded: 1, received: 0, resent: 0, owned: 0, nodes: 2, live: true, state: 'active' },
    })
    expect(two.actors.stats()).toMatchObject({
      active: 1,
      turns: 2,
      batches: 2,
      activations: 1,
      cluster: { forwarded: 0, received: 1, owned: 1, nodes: 2, address: two.process.name },
    })
    expect(one.actors.stats().cluster?.links).toMatchObject([{ address: two.process.name, state: 'open', inFlight: 0 }])
    // The owner is remembered.
    expect(one.located).toEqual([actor])
  })

  it('gets the error of its turn, and the reason of a refusal, from the other node', async () => {
    const [one, two] = (await cluster(2, { limits: { perCaller: 0 } })) as [Node, Node]
    const [actor] = actorsOf(two) as [string]
    const refused = await outcome(run(one, actor, 'a', { payload: 'refuse', priority: 'control' }))
    expect(refused.error).toMatchObject({ name: 'TypeError', message: 'no' })
    expect(reasonIn(await outcome(run(one, actor, 'b')))).toBe('overloaded')
  })

  it('fails at once when its payload cannot be sent', async () => {
    const [one, two] = (await cluster(2)) as [Node, Node]
    const circle: { self?: unknown } = {}
    circle.self = circle
    const [actor] = actorsOf(two) as [string]
    const { error } = await outcome(run(one, actor, 'a', { payload: circle }))
    expect(error).toBeInstanceOf(TypeError)
    expect(one.actors.stats()).toMatchObject({ waiting: 0, cluster: { forwarded: 0 } })
  })

  it('is refused when too many commands of this node are in progress on the same node', async () => {
    const { gate, open } = gateOf()
    const [one, two] = (await cluster(2, { linkLimits: { inFlight: 1 }, gate })) as [Node, Node]
    const [actor] = actorsOf(two) as [string]
    const first = run(one, actor, 'first')
    await pass(100)
    expect(reasonIn(await outcome(run(one, actor, 'second')))).toBe('overloaded')
    expect(one.actors.stats()).toMatchObject({ overloaded: 1, waiting: 1 })
    open()
    expect(await outcome(first)).toMatchObject({ value: 'did first' })
  })

  it('has one effect and one reply when the connection breaks while it runs', async () => {
    const { gate, open } = gateOf()
    const [one, two] = (await cluster(2, { gate })) as [Node, Node]
    const [actor] = actorsOf(two) as [string]
    const result = run(one, actor, 'first')
    await pass(100)
    network.reset(two.process.name)
    await pass(100)
    expect(one.actors.stats().cluster).toMatchObject({ resent: 1 })
    open()
    expect(await outcome(result)).toMatchObject({ value: 'did first' })
    expect(effects).toEqual(['first'])
  })

  it('has one effect when the connection breaks after it has run and before its reply arrives', async () => {
    const host = hostOf()
    let isBroken = false
    const breaking: ActorHost = {
      ...host,
      execute: async (...given) => {
        const outcomes = await host.execute(...given)
        if (!isBroken) network.reset(nodes[1]?.process.name ?? '')
        isBroken = true
        return outcomes
      },
    }
    const [one, two] = (await cluster(2, { host: breaking })) as [Node, Node]
    const [actor] = actorsOf(two) as [string]
    expect(await outcome(run(one, actor, 'first'))).toMatchObject({ value: 'did first' })
    expect([effects, one.actors.stats().cluster?.resent]).toEqual([['first'], 1])
  })

  it('is refused as unknown when the connection breaks and outcomes are not kept', async () => {
    const { gate, open } = gateOf()
    const [one, two] = (await cluster(2, { host: { ...hostOf(gate), remembersOutcomes: false } })) as [Node, Node]
    const [actor] = actorsOf(two) as [string]
    const result = run(one, actor, 'first')
    await pass(100)
    network.reset(two.process.name)
    expect(reasonIn(await outcome(result))).toBe('unknown')
    expect(one.actors.stats()).toMatchObject({ unknown: 1, cluster: { resent: 0 } })
    open()
  })

  it('is returned when the other node releases the actor, and not forwarded by that node', async () => {
    const { gate, open } = gateOf()
    const [one, two] = (await cluster(3, { gate })) as [Node, Node, Node]
    const [actor] = actorsOf(two) as [string]
    const running = run(one, actor, 'running')
    await pass(50)
    const waiting = run(one, actor, 'waiting')
    await pass(50)
    const left = two.actors.leave(3_000)
    await pass(100)
    open()
    expect(await outcome(running)).toMatchObject({ value: 'did running' })
    expect(await outcome(waiting)).toMatchObject({ value: 'did waiting' })
    await outcome(left)
    expect(effects).toEqual(['running', 'waiting'])
    expect(two.actors.stats().cluster).toMatchObject({ forwarded: 0, owned: 0, handedOver: 1 })
  })

  it('runs under a new epoch after another process took the actor in the database', async () => {
    const [one] = (await cluster(1)) as [Node]
    await outcome(run(one, 'ws:1', 'first'))
    epochs.set('ws:1', 7)
    expect(await outcome(run(one, 'ws:1', 'second'))).toMatchObject({ value: 'did second' })
    expect(one.actors.stats()).toMatchObject({ fenced: 1, activations: 2 })
    expect(await one.actors.owners()).toMatchObject([{ actors: [{ actor: 'ws:1', epoch: 8, waiting: 0 }] }])
  })
})

describe('without a lease', () => {
  it('commands wait for two seconds in total, and are refused at once after that', async () => {
    redis.restart(60_000)
    const one = await join()
    expect([scheduler.now, one.actors.live]).toEqual([2_000, false])
    const began = scheduler.now
    const first = run(one, 'ws:1', 'first')
    await pass(1_500)
    const second = run(one, 'ws:1', 'second')
    const results = await Promise.all([outcome(first), outcome(second)])
    for (const result of results) expect([reasonIn(result), result.at - began]).toEqual(['not_live', 2_000])
    const late = await outcome(run(one, 'ws:1', 'late'))
    expect([reasonIn(late), late.at - began]).toEqual(['not_live', 2_000])
    expect(one.errors).toHaveLength(1)
  })

  it('owners are looked up again after growing pauses', async () => {
    const [one] = (await cluster(1)) as [Node]
    redis.restart(1_000)
    expect(await outcome(run(one, 'ws:new', 'first'))).toMatchObject({ value: 'did first' })
    expect(one.located.length).toBeLessThan(20)
  })

  it('commands run when it returns in time, and wait again when it is lost again', async () => {
    const [one] = (await cluster(1)) as [Node]
    for (const name of ['first', 'second']) {
      redis.restart(5_000)
      await pass(4_500)
      expect(one.actors.live).toBe(false)
      expect(await outcome(run(one, 'ws:1', name))).toMatchObject({ value: `did ${name}` })
      expect(one.actors.live).toBe(true)
      await pass(3_000)
    }
    expect(one.actors.stats().cluster).toMatchObject({ lostLeases: 2, owned: 1 })
  })

  it('a node owns nothing, and gets a new name when it returns', async () => {
    const [one] = (await cluster(1)) as [Node]
    await outcome(run(one, 'ws:1', 'first'))
    const before = one.actors.stats().cluster
    expect(before).toMatchObject({ owned: 1 })
    expect(before?.leaseLeftMs).toBeGreaterThan(2_900)
    expect(before?.leaseLeftMs).toBeLessThanOrEqual(4_000)
    redis.restart(5_000)
    await pass(4_500)
    expect(one.actors.stats()).toMatchObject({ active: 0, cluster: { owned: 0, live: false, leaseLeftMs: 0 } })
    await pass(2_000)
    expect(one.actors.stats().cluster?.inc).not.toBe(before?.inc)
    expect(one.actors.live).toBe(true)
  })
})

describe('a node', () => {
  it('does not start with a short secret', async () => {
    const { error } = await outcome(ClusterActors.start({ secret: 'x'.repeat(31) } as unknown as ClusterActorsOptions))
    expect(error).toMatchObject({ message: 'the cluster secret must have at least 32 characters' })
  })

  it('closes its connection to the lease store when it cannot listen for links', async () => {
    const process = new SimProcess('node:1', scheduler, 1, 0)
    let closed = 0
    const starting = ClusterActors.start({
      host: hostOf(),
      codec: jsonCodec,
      store: { ...redis.storeFor(process), close: async () => void (closed += 1) },
      transport: { ...network.transportFor(process), listen: () => Promise.reject(new Error('the port is in use')) },
      secret: SECRET,
      clock: process.clock,
      random: new SeededRandom(1),
    })
    expect([(await outcome(starting)).error, closed]).toEqual([new Error('the port is in use'), 1])
  })

  it('lists the actors of all nodes, and marks nodes that do not reply', async () => {
    const [one, two] = (await cluster(2)) as [Node, Node]
    const [mine, yours] = [actorsOf(one)[0] as string, actorsOf(two)[0] as string]
    await outcome(run(one, mine, 'a'))
    await outcome(run(one, yours, 'b'))
    const list = async () => {
      const { value } = await outcome(one.actors.owners())
      return Object.fromEntries((value as NodeOwnership[]).map((node) => [node.address, node]))
    }
    expect(await list()).toMatchObject({
      [one.process.name]: { reachable: true, actors: [{ actor: mine, epoch: 1, waiting: 0 }] },
      [two.process.name]: { reachable: true, actors: [{ actor: yours, epoch: 1, waiting: 0 }] },
    })
    network.part(one.process.name, two.process.name, 1_500)
    const began = scheduler.now
    expect(await list()).toMatchObject({ [two.process.name]: { reachable: false, actors: [] } })
    expect(scheduler.now - began).toBe(1_000)
    await pass(3_000)
  })

  it('hands its actors over when it leaves, and forwards commands until it closes', async () => {
    const [one, two] = (await cluster(2)) as [Node, Node]
    const mine = actorsOf(one, 3)
    for (const actor of mine) await outcome(run(one, actor, actor))
    const { at } = await outcome(one.actors.leave(5_000))
    expect(scheduler.now - at).toBe(0)
    expect(one.actors.stats().cluster).toMatchObject({ owned: 0, handedOver: 3, state: 'leaving' })
    expect(await outcome(run(one, mine[0] as string, 'more'))).toMatchObject({ value: 'did more' })
    expect(two.actors.stats()).toMatchObject({ turns: 1, cluster: { received: 1 } })
    await pass(1_500)
    await outcome(one.actors.close(1_000))
    expect(reasonIn(await outcome(run(one, mine[0] as string, 'late')))).toBe('closed')
    await pass(1_500)
    // It left properly, so no other node has to look for commits that it did not announce.
    expect(two.lost).toEqual([])
    expect(two.actors.stats().cluster).toMatchObject({ nodes: 1 })
  })

  it('leaves in time while the lease store does not reply', async () => {
    const [one] = (await cluster(2)) as [Node]
    await outcome(run(one, actorsOf(one)[0] as string, 'first'))
    redis.cutOff(one.process.name, 5_000)
    const began = scheduler.now
    const { at } = await outcome(one.actors.leave(90))
    expect(at - began).toBeLessThanOrEqual(90)
  })

  it('finishes its commands before it closes, without another node', async () => {
    const { gate, open } = gateOf()
    const [one] = (await cluster(1, { gate })) as [Node]
    const result = run(one, 'ws:1', 'first')
    await pass(50)
    const closed = one.actors.close(2_000)
    await pass(100)
    open()
    expect(await outcome(result)).toMatchObject({ value: 'did first' })
    const { at } = await outcome(closed)
    expect(scheduler.now - at).toBe(0)
  })

  it('settles its commands when it closes before they have ended', async () => {
    const { gate, open } = gateOf()
    const [one] = (await cluster(1, { gate })) as [Node]
    const running = run(one, 'ws:1', 'first')
    await pass(50)
    const waiting = run(one, 'ws:1', 'second')
    await pass(50)
    const began = scheduler.now
    const [first, second, closed] = await Promise.all(
      [running, waiting, one.actors.close(1_000)].map((one) => outcome(one)),
    )
    expect([reasonIn(first ?? {}), reasonIn(second ?? {})]).toEqual(['unknown', 'closed'])
    expect((closed?.at ?? Infinity) - began).toBeLessThan(1_300)
    open()
  })

  it('detects that another node has died, and runs its actors', async () => {
    const [one, two] = (await cluster(2)) as [Node, Node]
    const [actor, other] = actorsOf(two, 2) as [string, string]
    await outcome(run(one, actor, 'first'))
    await outcome(run(one, other, 'first of another'))
    two.process.crash()
    network.crashed(two.process)
    const died = scheduler.now
    expect(await outcome(run(one, actor, 'second', { deadline: died + 10_000 }))).toMatchObject({ value: 'did second' })
    await pass(2_000)
    expect(one.lost).toHaveLength(1)
    expect((one.lost[0] ?? 0) - died).toBeLessThan(6_100)
    expect(one.actors.stats()).toMatchObject({ cluster: { nodes: 1, owned: 1, links: [] } })
    // Nothing is sent to the dead node any more.
    const { forwarded } = one.actors.stats().cluster ?? {}
    await outcome(run(one, other, 'second of another'))
    expect(one.actors.stats().cluster?.forwarded).toBe(forwarded)
  })

  it('releases its actors while it cannot commit, and takes them back later', async () => {
    let healthy = true
    const host = { ...hostOf(), probe: async () => (healthy ? undefined : Promise.reject(new Error('away'))) }
    const [one] = (await cluster(2, { host })) as [Node, Node]
    const two = nodes[1] as Node
    const mine = actorsOf(one, 3)
    for (const actor of mine) await outcome(run(one, actor, actor))
    // Both nodes use the same database in this test, but only the first one finds it unavailable.
    const asked = one.actors.stats().cluster?.state
    expect(asked).toBe('active')
    healthy = false
    await pass(1_200)
    expect(two.actors.stats().cluster?.state).toBe('active')
    await pass(1_200)
    expect(one.actors.stats().cluster?.state).toBe('impaired')
    healthy = true
    await pass(1_000)
    expect(one.actors.stats().cluster?.state).toBe('active')
  })

  it('releases an idle actor, so that any node can take it', async () => {
    const [one] = (await cluster(1, { limits: { idleMs: 1_000 } })) as [Node]
    await outcome(run(one, 'ws:1', 'first'))
    expect(redis.tables.claims.has('ws:1')).toBe(true)
    await pass(2_500)
    expect(redis.tables.claims.has('ws:1')).toBe(false)
    expect(one.actors.stats()).toMatchObject({ active: 0, cluster: { owned: 0, handedOver: 0 } })
  })

  it('renews its claims every hour', async () => {
    const [one] = (await cluster(1, { limits: { idleMs: 100 * 3_600_000 }, beatMs: 4_000, ttlMs: 20_000 })) as [Node]
    await outcome(run(one, 'ws:1', 'first'))
    await pass(3_600_000 - 10_000)
    expect(one.located).toEqual(['ws:1'])
    await pass(20_000)
    expect(one.located).toEqual(['ws:1', 'ws:1'])
    await pass(3_600_000 - 20_000)
    expect(one.located).toHaveLength(2)
    await pass(20_000)
    expect(one.located).toHaveLength(3)
  })
})

describe('a node that joins', () => {
  it('gets its share after a while, a few actors per heartbeat', async () => {
    const [one] = (await cluster(1, { handOverPerBeat: 2 })) as [Node]
    const all = Array.from({ length: 20 }, (_, index) => `ws:${index}`)
    for (const actor of all) await outcome(run(one, actor, actor))
    await pass(100)
    const two = await join()
    const share = all.filter((actor) => placeOf(actor, entries())?.address === two.process.name).length
    expect(share).toBeGreaterThan(4)
    const handed = () => one.actors.stats().cluster?.handedOver ?? 0
    // The other nodes must have seen it for a second and a half.
    await pass(1_400)
    expect(handed()).toBe(0)
    const counts = new Set<number>()
    for (let ms = 0; ms < 1_000 * share; ms += 100) {
      await pass(100)
      counts.add(handed())
    }
    expect(handed()).toBe(share)
    expect([...counts].every((count) => count % 2 === 0 || count === share)).toBe(true)
    expect(one.actors.stats().cluster?.owned).toBe(all.length - share)
    for (const actor of all) await outcome(run(one, actor, `${actor} again`))
    expect(one.actors.stats().cluster?.forwarded).toBe(share)
    expect(two.actors.stats().cluster?.owned).toBe(share)
  })

  it('also gets an actor that is never idle', async () => {
    const { gate, open } = gateOf()
    const [one] = (await cluster(1, { gate, limits: { stallMs: 60_000 } })) as [Node]
    const two = await join()
    const [actor] = actorsOf(two) as [string]
    // Claimed for the first node before it knows the second one.
    redis.tables.claims.set(actor, one.actors.stats().cluster?.inc as string)
    const result = run(one, actor, 'first', { deadline: scheduler.now + 20_000 })
    await pass(4_000)
    open()
    expect(await outcome(result)).toMatchObject({ value: 'did first' })
    expect(one.actors.stats().cluster).toMatchObject({ owned: 0, handedOver: 1 })
    expect(effects).toEqual(['first'])
  })
})
