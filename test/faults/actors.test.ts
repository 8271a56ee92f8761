import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.ts'
import { Cluster, expectWithin, FAIL_OVER_MS, LEASE_MS, LONG_LEASE_MS, PACE, type TestNode } from './actors-cluster.ts'
import { faultsOf, Load } from './actors-load.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start()
})
afterEach(() => cluster.clear())
afterAll(() => cluster.stop())

async function startNodes(count: number, leaseMs?: number): Promise<[TestNode, TestNode, ...TestNode[]]> {
  const names = Array.from({ length: count }, (_, index) => `node${index}`)
  const nodes = await Promise.all(names.map((name) => cluster.startNode(name, leaseMs)))
  const one = nodes[0] as TestNode
  await waitFor(async () => (await one.stats()).cluster?.nodes === count)
  return nodes as [TestNode, TestNode, ...TestNode[]]
}

async function startLoad(nodes: readonly TestNode[], timeoutMs?: number): Promise<Load> {
  const load = new Load(timeoutMs)
  for (const node of nodes) load.add(node)
  await waitFor(() => load.acknowledged > 200, { what: 'the load to start' })
  return load
}

/** The actors that a node owns, as another node sees it. */
async function ownedBy(node: TestNode, seenFrom: TestNode): Promise<string[]> {
  const { address } = (await node.stats()).cluster ?? {}
  const owners = await seenFrom.owners()
  return owners.find((row) => row.address === address)?.actors.map((row) => row.actor) ?? []
}

/** The nodes, the one with the most actors first. */
async function byOwned(nodes: readonly TestNode[]): Promise<TestNode[]> {
  const counts = await Promise.all(nodes.map(async (node) => (await node.stats()).cluster?.owned ?? 0))
  return nodes.toSorted((a, b) => (counts[nodes.indexOf(b)] ?? 0) - (counts[nodes.indexOf(a)] ?? 0))
}

/** The node that owns the most actors, and the actors it owns according to the others, once none move. */
async function busiestOf(nodes: readonly TestNode[]) {
  await cluster.settled()
  return waitFor(
    async () => {
      const [busiest, ...others] = (await byOwned(nodes)) as [TestNode, TestNode, ...TestNode[]]
      const owned = await ownedBy(busiest, others[0])
      return owned.length > 0 ? { busiest, others, owned } : undefined
    },
    { what: 'a node that owns actors' },
  )
}

function untilServed(load: Load, nodes: readonly TestNode[]): Promise<unknown> {
  const since = performance.now()
  return waitFor(() => load.isServedSince(since, nodes), {
    what: 'every node to serve every actor',
  })
}

/** The longest time for a command where none may fail. */
const PATIENT_MS = 20_000

let lastActivation = 0

/** Activates 60 actors, which are idle afterwards. */
async function activateIdleActors(node: TestNode): Promise<void> {
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, index) => node.run(`ws:idle${index}`, `idle${(lastActivation += 1)}`, PATIENT_MS)),
  )
  expect(replies.filter((reply) => !reply.ok)).toEqual([])
}

function report(name: string, load: Load, figures: Record<string, number>): void {
  const replies: Record<string, number> = {}
  for (const { reply } of load.sent) {
    const key = reply.ok ? 'acknowledged' : (reply.reason ?? '').slice(0, 40)
    replies[key] = (replies[key] ?? 0) + 1
  }
  const rounded = Object.entries(figures).map(([key, value]) => `${key} ${value.toFixed(0)}`)
  console.log(`${name}: ${rounded.join(', ')}; ${JSON.stringify(replies)}`)
}

describe('loss of the owner', () => {
  it('moves the actors of a killed node to others within lease + 2 s', async () => {
    const nodes = await startNodes(3)
    const load = await startLoad(nodes)
    const { busiest: three, others, owned } = await busiestOf(nodes)
    const [one, two] = others as [TestNode, TestNode]
    three.signal('SIGKILL')
    await untilServed(load, [one, two])
    const sent = await load.stop()
    const gap = load.longestGap([one, two], owned)
    report('kill -9', load, { 'fail-over ms': gap })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    // The lease outlives its node. With a shorter gap these would not have been its actors.
    expectWithin(gap, FAIL_OVER_MS, LEASE_MS / 2)
  })

  it('keeps a node that was paused for longer than its lease from writing, and lets it rejoin', async () => {
    const nodes = await startNodes(2)
    const load = await startLoad(nodes)
    const { busiest: two, others, owned } = await busiestOf(nodes)
    const [one] = others as [TestNode]
    two.signal('SIGSTOP')
    await delay(1.6 * LEASE_MS)
    two.signal('SIGCONT')
    await untilServed(load, [one, two])
    const sent = await load.stop()
    const gap = load.longestGap([one], owned)
    report('SIGSTOP', load, { 'fail-over ms': gap })
    expect(faultsOf(await cluster.log(), sent, [two.name])).toEqual([])
    expectWithin(gap, FAIL_OVER_MS)
    expect((await two.stats()).cluster?.lostLeases).toBeGreaterThan(0)
  })

  it('hands actors over at a graceful stop; a client that retries once sees no error', async () => {
    const [one, two, three] = (await startNodes(3, LONG_LEASE_MS)) as [TestNode, TestNode, TestNode]
    const load = await startLoad([one, two], PATIENT_MS)
    await activateIdleActors(one)
    await waitFor(async () => (await ownedBy(three, one)).length > 5, { what: 'the third node to own its share' })
    const took = await three.stop()
    await untilServed(load, [one, two])
    const sent = await load.stop()
    report('graceful stop', load, { 'stop ms': took, 'longest gap ms': load.longestGap([one, two]) })
    expect(sent.filter((one) => !one.reply.ok)).toEqual([])
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expectWithin(took, 1_000)
  })

  it('gives a joining node its share, without errors', async () => {
    const [one, two] = await startNodes(2, LONG_LEASE_MS)
    const load = await startLoad([one, two], PATIENT_MS)
    await activateIdleActors(one)
    const three = await cluster.startNode('late', LONG_LEASE_MS)
    load.add(three)
    await waitFor(
      async () => {
        const stats = await Promise.all([one.stats(), two.stats()])
        return stats.reduce((sum, { cluster }) => sum + (cluster?.handedOver ?? 0), 0) > 5
      },
      { what: 'actors to be handed over' },
    )
    await activateIdleActors(one)
    await waitFor(async () => (await ownedBy(three, one)).length > 5, { what: 'the third node to own its share' })
    await untilServed(load, [one, two, three])
    const sent = await load.stop()
    report('join', load, { 'longest gap ms': load.longestGap([one, two]) })
    expect(sent.filter((one) => !one.reply.ok)).toEqual([])
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
  })
})

describe('loss of Redis', () => {
  it('loses nothing and serves again within lease + 2 s after FLUSHALL', async () => {
    const [one, two] = await startNodes(2)
    const load = await startLoad([one, two])
    await cluster.flushRedis()
    await untilServed(load, [one, two])
    const sent = await load.stop()
    const gap = load.longestGap([one, two])
    report('FLUSHALL', load, { 'longest gap ms': gap })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expectWithin(gap, FAIL_OVER_MS)
  })

  it.each([4_000 * PACE, 20_000 * PACE])('recovers when Redis is killed and returns empty after %d ms', async (ms) => {
    const [one, two] = await startNodes(2)
    const load = await startLoad([one, two])
    await cluster.killRedis()
    await delay(ms)
    await cluster.startRedis()
    const restartedAt = performance.now()
    await untilServed(load, [one, two])
    const recovered = performance.now() - restartedAt
    const sent = await load.stop()
    report(`Redis away for ${ms} ms`, load, { 'recovered ms': recovered })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expectWithin(recovered, FAIL_OVER_MS)
  })
})

describe('loss of PostgreSQL', () => {
  it('has applied every acknowledged command once after a crash and restart', async () => {
    const [one, two] = await startNodes(2)
    const load = await startLoad([one, two])
    cluster.killPostgres()
    const killedAt = performance.now()
    await untilServed(load, [one, two])
    const recovered = performance.now() - killedAt
    const sent = await load.stop()
    report('PostgreSQL kill -9', load, { 'recovered ms': recovered })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expectWithin(recovered, 15_000)
  })
})
