import { beforeEach, describe, expect, it } from 'vitest'
import type { Engine } from './engine.ts'
import type { Lease } from './lease.ts'
import { Ownership, type OwnershipOptions } from './ownership.ts'
import { placeOf } from './placement.ts'
import type { LeaseStore, NodeEntry, NodeState } from './ports.ts'
import { SimProcess } from './simulation/process.ts'
import { Scheduler } from './simulation/scheduler.ts'

// The test sets the state of the node, its lease and its engine. The lease store is a map.

const ME = 'me'
const node = (inc: string, state: NodeState = 'active'): NodeEntry => ({ inc, address: `${inc}:1`, state })

let scheduler: Scheduler
let lease: { inc: string; state: NodeState; live: boolean; nodes: NodeEntry[] }
let claims: Map<string, NodeEntry>
let asked: [string, readonly string[]][]
let released: [string, string, string | undefined][]
let quiesced: string[]
let busy: Set<string>
let lost: number
let errors: unknown[]
let locate: LeaseStore['locate']

beforeEach(() => {
  scheduler = new Scheduler()
  lease = { inc: ME, state: 'active', live: true, nodes: [node(ME)] }
  claims = new Map()
  asked = []
  released = []
  quiesced = []
  busy = new Set()
  lost = 0
  errors = []
  locate = async (actor, candidates) => {
    asked.push([actor, candidates])
    const found = claims.get(actor) ?? lease.nodes.find(({ inc }) => inc === candidates[0])
    if (found) claims.set(actor, found)
    return found
  }
})

function ownership(changes: Partial<OwnershipOptions> = {}): Ownership {
  return new Ownership({
    store: {
      locate: (actor, candidates) => locate(actor, candidates),
      release: async (...given) => {
        released.push(given)
        claims.delete(given[0])
      },
    } as Partial<LeaseStore> as LeaseStore,
    clock: new SimProcess('node', scheduler, 1, 0).clock,
    lease: lease as unknown as Lease,
    engine: {
      quiesce: async (actor: string) => void quiesced.push(actor),
      isIdle: (actor: string) => !busy.has(actor),
    } as Partial<Engine> as Engine,
    handOverPerBeat: 2,
    handOverMs: 700,
    onRelease: undefined,
    onNodeLost: () => (lost += 1),
    onError: (error) => void errors.push(error),
    ...changes,
  })
}

const settle = () => new Promise(setImmediate)

/** Names of actors that belong to a node among those that are alive. */
function actorsOf(inc: string, count: number): string[] {
  const all = Array.from({ length: 200 }, (_, index) => `ws:${index}`)
  return all.filter((actor) => placeOf(actor, lease.nodes)?.inc === inc).slice(0, count)
}

/** Actors that this node got while it was alone, and that belong to `other` once that has joined. */
async function takenBefore(owner: Ownership, count: number): Promise<string[]> {
  lease.nodes = [node(ME), node('other')]
  const actors = actorsOf('other', count)
  lease.nodes = [node(ME)]
  for (const actor of actors) await owner.find(actor)
  return actors
}

describe('an owner', () => {
  it('is looked up once, and again when it may be outdated or must be fresh', async () => {
    const owner = ownership()
    claims.set('ws:1', node('other'))
    expect(await owner.find('ws:1')).toEqual(node('other'))
    expect([owner.elsewhere('ws:1'), owner.has('ws:1'), owner.size]).toEqual([node('other'), false, 0])
    await owner.find('ws:1')
    expect(asked).toHaveLength(1)
    await owner.find('ws:1', { fresh: true })
    expect(asked).toHaveLength(2)
    owner.doubt('ws:1')
    expect(owner.elsewhere('ws:1')).toBeUndefined()
    await owner.find('ws:1')
    expect(asked).toHaveLength(3)
  })

  it('is looked up once for all concurrent requests', async () => {
    const owner = ownership()
    await Promise.all([owner.find('ws:1'), owner.find('ws:1', { fresh: true }), owner.find('ws:2')])
    expect(asked.map(([actor]) => actor)).toEqual(['ws:1', 'ws:2'])
    await owner.find('ws:1', { fresh: true })
    expect(asked).toHaveLength(3)
  })

  it('is this node as long as its lease lives', async () => {
    const owner = ownership()
    await owner.find('ws:1')
    expect([owner.has('ws:1'), owner.actors(), owner.size, owner.isSelf(node(ME))]).toEqual([true, ['ws:1'], 1, true])
    lease.live = false
    expect(owner.has('ws:1')).toBe(false)
    lease.live = true
    owner.loseAll()
    expect([owner.has('ws:1'), owner.size]).toEqual([false, 0])
  })

  it('is unknown when the store fails, or replies for an earlier name of this node', async () => {
    const owner = ownership()
    locate = () => Promise.reject(new Error('away'))
    expect(await owner.find('ws:1')).toBeUndefined()
    expect(errors).toHaveLength(1)
    locate = async () => {
      lease.inc = 'me again'
      return node(ME)
    }
    expect(await owner.find('ws:1')).toBeUndefined()
    expect(owner.size).toBe(0)
  })

  it('is this node when the store has removed its session, while it has a lease and knows no other node', async () => {
    locate = async () => undefined
    const owner = ownership()
    expect(await owner.find('ws:1')).toEqual(node(ME))
    expect(owner.has('ws:1')).toBe(true)
    lease.live = false
    expect(await owner.find('ws:2')).toBeUndefined()
    lease.live = true
    lease.nodes = [node(ME), node('other')]
    expect(await owner.find('ws:2')).toBeUndefined()
    lease.nodes = [node('other')]
    expect(await owner.find('ws:2')).toBeUndefined()
    lease.nodes = [node(ME)]
    locate = () => Promise.reject(new Error('no connection'))
    expect(await owner.find('ws:2')).toBeUndefined()
  })

  it('is another node after that has taken the actor, and this node gives the actor up', async () => {
    const owner = ownership()
    await owner.find('ws:1')
    claims.set('ws:1', node('other'))
    await owner.find('ws:1', { fresh: true })
    expect([owner.has('ws:1'), quiesced, owner.elsewhere('ws:1')]).toEqual([false, ['ws:1'], node('other')])
    await owner.find('ws:1', { fresh: true })
    expect(quiesced).toHaveLength(1)
  })

  it('is forgotten when its node is no longer alive', async () => {
    const owner = ownership()
    lease.nodes = [node(ME), node('a'), node('b')]
    owner.afterBeat()
    claims.set('ws:1', node('a')).set('ws:2', node('b'))
    await Promise.all([owner.find('ws:1'), owner.find('ws:2')])
    lease.nodes = [node(ME), node('b')]
    owner.afterBeat()
    expect([owner.elsewhere('ws:1'), owner.elsewhere('ws:2')]).toEqual([undefined, node('b')])
  })

  it('of at most 50,000 actors is remembered', async () => {
    const owner = ownership()
    locate = async () => node('other')
    const names = Array.from({ length: 50_001 }, (_, index) => `ws:${index}`)
    for (const name of names.slice(0, 50_000)) await owner.find(name)
    expect(owner.elsewhere('ws:0')).toBeDefined()
    await owner.find('ws:50000')
    expect([owner.elsewhere('ws:0'), owner.elsewhere('ws:1')]).toEqual([undefined, node('other')])
  })
})

describe('candidates', () => {
  it('are the node where an actor belongs, and this one', async () => {
    lease.nodes = [node(ME), node('other')]
    const [actor] = actorsOf('other', 1) as [string]
    await ownership().find(actor)
    expect(asked).toEqual([[actor, ['other', ME]]])
  })

  it('do not include a node that is leaving or impaired, unless it is the only one', async () => {
    for (const state of ['leaving', 'impaired'] as const) {
      lease.state = state
      lease.nodes = [node(ME, state), node('other')]
      asked.length = 0
      await ownership().find('ws:1')
      lease.nodes = [node(ME, state)]
      await ownership().find('ws:2')
      lease.nodes = [node(ME, state), node('other', 'leaving')]
      await ownership().find('ws:3')
      expect(asked.map(([, candidates]) => candidates)).toEqual([['other'], [ME], [ME]])
    }
  })
})

describe('handing over', () => {
  it('happens once at a time: the batch ends, the host is notified, the store gets the successor', async () => {
    const told: string[] = []
    const owner = ownership({ onRelease: async (actor) => void told.push(`${actor} ${quiesced.length}`) })
    await owner.find('ws:1')
    const [first, second] = [owner.handOver('ws:1', 'other'), owner.handOver('ws:1', undefined)]
    expect(second).toBe(first)
    expect([owner.has('ws:1'), owner.elsewhere('ws:1')]).toEqual([false, undefined])
    await first
    expect([quiesced, told, released, owner.handedOver]).toEqual([['ws:1'], ['ws:1 1'], [['ws:1', ME, 'other']], 1])
    await owner.handOver('ws:2', undefined)
    expect([released[1], owner.handedOver]).toEqual([['ws:2', ME, undefined], 1])
  })

  it('delays lookups of the actor, and a reply that arrives meanwhile does not undo it', async () => {
    const gate = Promise.withResolvers<void>()
    const owner = ownership({ onRelease: () => gate.promise })
    await owner.find('ws:1')
    const asking = locate
    const slow = Promise.withResolvers<void>()
    locate = async (actor, candidates) => {
      await slow.promise
      return asking(actor, candidates)
    }
    const early = owner.find('ws:1', { fresh: true })
    await settle()
    void owner.handOver('ws:1', undefined)
    slow.resolve()
    expect(await early).toBeUndefined()
    const late = owner.find('ws:1')
    await settle()
    expect(owner.has('ws:1')).toBe(false)
    gate.resolve()
    expect(await late).toEqual(node(ME))
    expect(owner.has('ws:1')).toBe(true)
  })

  it('waits for a slow host no longer than 200 ms', async () => {
    const owner = ownership({ onRelease: () => new Promise(() => undefined) })
    await owner.find('ws:1')
    let done = false
    void owner.handOver('ws:1', undefined).then(() => (done = true))
    await settle()
    await scheduler.run(199)
    expect(done).toBe(false)
    await scheduler.run(200)
    await settle()
    expect(done).toBe(true)
  })

  it('of all actors gives each to the node where it belongs', async () => {
    const owner = ownership()
    const names = Array.from({ length: 300 }, (_, index) => `ws:${index}`)
    for (const name of names) await owner.find(name)
    lease.nodes = [node(ME, 'leaving'), node('a'), node('b')]
    expect(owner.hasHeirs).toBe(true)
    await owner.handOverAll()
    expect(released).toHaveLength(300)
    for (const [actor, , heir] of released) expect(heir).toBe(placeOf(actor, [node('a'), node('b')])?.inc)
    expect([owner.size, owner.handedOver]).toEqual([0, 300])
    lease.nodes = [node(ME), node('a', 'leaving'), node('b', 'impaired')]
    expect(owner.hasHeirs).toBe(false)
  })
})

describe('balance', () => {
  it('gives a node that joined 1.5 s ago its share: a few actors per heartbeat, idle ones first', async () => {
    const owner = ownership()
    const actors = await takenBefore(owner, 5)
    owner.afterBeat()
    busy = new Set(actors.slice(0, 2))
    lease.nodes = [node(ME), node('other')]
    owner.afterBeat()
    await scheduler.run(1_499)
    owner.afterBeat()
    expect(quiesced).toEqual([])
    await scheduler.run(1_500)
    owner.afterBeat()
    expect(quiesced).toEqual(actors.slice(2, 4))
    owner.afterBeat()
    expect(quiesced).toEqual([...actors.slice(2), actors[0]])
    owner.afterBeat()
    expect(quiesced).toHaveLength(5)
    await settle()
    expect(released.every(([, , heir]) => heir === 'other')).toBe(true)
    owner.afterBeat()
    expect(quiesced).toHaveLength(5)
  })

  it('gives nothing to a node whose state has just changed, or while this node is leaving', async () => {
    const owner = ownership()
    const actors = await takenBefore(owner, 1)
    lease.nodes = [node(ME), node('other', 'impaired')]
    owner.afterBeat()
    await scheduler.run(2_000)
    lease.nodes = [node(ME), node('other')]
    owner.afterBeat()
    expect(quiesced).toEqual([])
    await scheduler.run(4_000)
    lease.nodes = [node(ME, 'leaving'), node('other')]
    owner.afterBeat()
    expect(quiesced).toEqual([])
    lease.nodes = [node(ME), node('other')]
    owner.afterBeat()
    await scheduler.run(6_000)
    owner.afterBeat()
    expect(quiesced).toEqual(actors)
  })

  it('gives everything away at once when this node has been impaired for a moment', async () => {
    const owner = ownership()
    const names = Array.from({ length: 10 }, (_, index) => `ws:${index}`)
    for (const name of names) await owner.find(name)
    lease.nodes = [node(ME), node('other')]
    owner.afterBeat()
    await scheduler.run(1_000)
    lease.nodes = [node(ME, 'impaired'), node('other')]
    owner.afterBeat()
    await scheduler.run(1_899)
    owner.afterBeat()
    expect(quiesced).toEqual([])
    await scheduler.run(1_900)
    owner.afterBeat()
    expect(quiesced).toEqual(names)
  })
})

describe('claims', () => {
  it('are renewed every hour, at most 64 per heartbeat', async () => {
    const owner = ownership()
    const names = Array.from({ length: 100 }, (_, index) => `ws:${index}`)
    for (const name of names) await owner.find(name)
    asked.length = 0
    await scheduler.run(3_600_000 - 1)
    owner.afterBeat()
    expect(asked).toEqual([])
    await scheduler.run(3_600_000)
    owner.afterBeat()
    expect(asked.map(([actor]) => actor)).toEqual(names.slice(0, 64))
    await settle()
    owner.afterBeat()
    await settle()
    owner.afterBeat()
    expect(asked.map(([actor]) => actor)).toEqual(names)
  })
})

describe('a node that disappears', () => {
  it('is reported, unless it was leaving, or is this one under an earlier name', () => {
    const owner = ownership()
    lease.nodes = [node(ME), node('a'), node('b', 'leaving'), { ...node('older'), address: node(ME).address }]
    owner.afterBeat()
    lease.nodes = [node(ME), node('a')]
    owner.afterBeat()
    expect(lost).toBe(0)
    lease.nodes = [node(ME)]
    owner.afterBeat()
    expect(lost).toBe(1)
    owner.afterBeat()
    expect(lost).toBe(1)
  })
})
