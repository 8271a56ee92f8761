import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.ts'
import { Cluster, FAIL_OVER_MS, LEASE_MS, PACE, type TestNode } from './actors-cluster.ts'
import { faultsOf, Load } from './actors-load.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start()
})
afterEach(() => cluster.clear())
afterAll(() => cluster.stop())

async function startNodes(count: number): Promise<[TestNode, TestNode, ...TestNode[]]> {
  const names = Array.from({ length: count }, (_, index) => `node${index}`)
  const nodes = await Promise.all(names.map((name) => cluster.startNode(name)))
  const one = nodes[0] as TestNode
  await waitFor(async () => (await one.stats()).cluster?.nodes === count)
  return nodes as [TestNode, TestNode, ...TestNode[]]
}

async function startLoad(nodes: readonly TestNode[]): Promise<Load> {
  const load = new Load()
  for (const node of nodes) load.add(node)
  await waitFor(() => load.acknowledged > 200, { timeoutMs: 20_000, what: 'load to flow' })
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

function flowsAgain(load: Load, nodes: readonly TestNode[]): Promise<unknown> {
  const since = performance.now()
  return waitFor(() => load.flowsSince(since, nodes), {
    timeoutMs: 25_000,
    what: 'every node to reach every actor',
  })
}

let lastTouch = 0

/** Activates actors that are idle afterwards. */
async function touchMany(node: TestNode): Promise<void> {
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => node.run(`ws:idle${index}`, `idle${(lastTouch += 1)}`, 5_000)),
  )
  expect(answers.filter((answer) => !answer.ok)).toEqual([])
}

function tell(name: string, load: Load, facts: Record<string, number>): void {
  const answers: Record<string, number> = {}
  for (const { answer } of load.sent) {
    const key = answer.ok ? 'acknowledged' : (answer.reason ?? '').slice(0, 40)
    answers[key] = (answers[key] ?? 0) + 1
  }
  const rounded = Object.entries(facts).map(([key, value]) => `${key} ${value.toFixed(0)}`)
  console.log(`${name}: ${rounded.join(', ')}; ${JSON.stringify(answers)}`)
}

describe('loss of the owner', () => {
  it('moves the actors of a killed node to others within lease + 2 s', async () => {
    const nodes = await startNodes(3)
    const load = await startLoad(nodes)
    const { busiest: three, others, owned } = await busiestOf(nodes)
    const [one, two] = others as [TestNode, TestNode]
    three.signal('SIGKILL')
    await flowsAgain(load, [one, two])
    const sent = await load.stop()
    const gap = load.longestGap([one, two], owned)
    tell('kill -9', load, { 'fail-over ms': gap })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expect(gap).toBeLessThan(FAIL_OVER_MS)
    // A session outlives its node; a shorter gap would mean that these were not its actors.
    expect(gap).toBeGreaterThan(LEASE_MS / 2)
  })

  it('lets a node that was stopped for longer than its lease write nothing more, and rejoin', async () => {
    const nodes = await startNodes(2)
    const load = await startLoad(nodes)
    const { busiest: two, others, owned } = await busiestOf(nodes)
    const [one] = others as [TestNode]
    two.signal('SIGSTOP')
    await delay(1.6 * LEASE_MS)
    two.signal('SIGCONT')
    await flowsAgain(load, [one, two])
    const sent = await load.stop()
    const gap = load.longestGap([one], owned)
    tell('SIGSTOP', load, { 'fail-over ms': gap })
    expect(faultsOf(await cluster.log(), sent, [two.name])).toEqual([])
    expect(gap).toBeLessThan(FAIL_OVER_MS)
    expect((await two.stats()).cluster?.lostLeases).toBe(1)
  })

  it('hands actors over within a second of a graceful stop; a client that retries once sees no error', async () => {
    const [one, two, three] = (await startNodes(3)) as [TestNode, TestNode, TestNode]
    const load = await startLoad([one, two])
    await touchMany(one)
    await waitFor(async () => (await ownedBy(three, one)).length > 5, { what: 'the third node to own its share' })
    const took = await three.stop()
    await flowsAgain(load, [one, two])
    const sent = await load.stop()
    tell('graceful stop', load, { 'stop ms': took, 'longest gap ms': load.longestGap([one, two]) })
    expect(sent.filter((one) => !one.answer.ok)).toEqual([])
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expect(took).toBeLessThan(1_000)
  })

  it('gives a joining node its share, without errors', async () => {
    const [one, two] = await startNodes(2)
    const load = await startLoad([one, two])
    await touchMany(one)
    const three = await cluster.startNode('late')
    load.add(three)
    await waitFor(
      async () => {
        const stats = await Promise.all([one.stats(), two.stats()])
        return stats.reduce((sum, { cluster }) => sum + (cluster?.handedOver ?? 0), 0) > 5
      },
      { timeoutMs: 10_000, what: 'actors to be handed over' },
    )
    await touchMany(one)
    await waitFor(async () => (await ownedBy(three, one)).length > 5, { what: 'the third node to own its share' })
    await flowsAgain(load, [one, two, three])
    const sent = await load.stop()
    tell('join', load, { 'longest gap ms': load.longestGap([one, two]) })
    expect(sent.filter((one) => !one.answer.ok)).toEqual([])
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
  })
})

describe('loss of Redis', () => {
  it('loses nothing and causes no long wait after FLUSHALL', async () => {
    const [one, two] = await startNodes(2)
    const load = await startLoad([one, two])
    await cluster.flushRedis()
    await flowsAgain(load, [one, two])
    const sent = await load.stop()
    const gap = load.longestGap([one, two])
    tell('FLUSHALL', load, { 'longest gap ms': gap })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expect(gap).toBeLessThan(FAIL_OVER_MS)
  })

  it.each([4_000 * PACE, 20_000 * PACE])('recovers when Redis is killed and returns empty after %d ms', async (ms) => {
    const [one, two] = await startNodes(2)
    const load = await startLoad([one, two])
    await cluster.killRedis()
    await delay(ms)
    await cluster.startRedis()
    const back = performance.now()
    await flowsAgain(load, [one, two])
    const recovered = performance.now() - back
    const sent = await load.stop()
    tell(`Redis away for ${ms} ms`, load, { 'recovered ms': recovered })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expect(recovered).toBeLessThan(FAIL_OVER_MS)
  })
})

describe('loss of PostgreSQL', () => {
  it('keeps every acknowledged command once after a crash and restart', async () => {
    const [one, two] = await startNodes(2)
    const load = await startLoad([one, two])
    cluster.killPostgres()
    const killed = performance.now()
    await flowsAgain(load, [one, two])
    const recovered = performance.now() - killed
    const sent = await load.stop()
    tell('PostgreSQL kill -9', load, { 'recovered ms': recovered })
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    expect(recovered).toBeLessThan(15_000)
  })
})
