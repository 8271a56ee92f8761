import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.ts'
import { Cluster, expectWithin, FAIL_OVER_MS, LEASE_MS, type TestNode } from './actors-cluster.ts'
import type { NetworkConnection } from './actors-namespaces.ts'
import { ACTORS, faultsOf, Load } from './actors-load.ts'

const CUT_MS = LEASE_MS + 4_000
/** Longer, because the interval of the database probe does not depend on the lease. */
const DATABASE_CUT_MS = 7_000

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start()
})
afterEach(() => cluster.clear())
afterAll(() => cluster.stop())

describe('a partition', () => {
  /** Cuts connections of node two under load, restores them, and waits until all actors are served again. */
  async function cutUnderLoad(connectionsOf: (one: TestNode, two: TestNode) => NetworkConnection[], cutMs = CUT_MS) {
    let [one, two] = await Promise.all([cluster.startNode('one'), cluster.startNode('two')])
    await waitFor(async () => (await one.stats()).cluster?.nodes === 2)
    const load = new Load()
    load.add(one)
    load.add(two)
    await waitFor(() => load.acknowledged > 200)
    await cluster.settled()
    // Cut off the node that owns the most actors.
    const [first, second] = [await one.stats(), await two.stats()]
    if ((first.cluster?.owned ?? 0) > (second.cluster?.owned ?? 0)) [one, two] = [two, one]
    const { address } = (await two.stats()).cluster ?? {}
    const owned = (await one.owners()).find((row) => row.address === address)?.actors.map((row) => row.actor) ?? []
    const connections = connectionsOf(one, two)
    for (const connection of connections) connection.cut()
    await delay(cutMs)
    for (const connection of connections) connection.restore()
    const restoredAt = performance.now()
    await waitFor(() => load.isServedSince(restoredAt, [one, two]), {
      what: 'every node to serve every actor',
    })
    const recovered = performance.now() - restoredAt
    const sent = await load.stop()
    const replies: Record<string, number> = {}
    for (const { reply } of sent) {
      const key = reply.ok ? 'acknowledged' : (reply.reason ?? '').slice(0, 40)
      replies[key] = (replies[key] ?? 0) + 1
    }
    const gap = load.longestGap([one], owned)
    const ownGap = load.longestGap(
      [one],
      ACTORS.filter((actor) => !owned.includes(actor)),
    )
    const figures = { gap, ownGap, recovered }
    console.log(expect.getState().currentTestName, JSON.stringify(figures), JSON.stringify(replies))
    expect(owned.length).toBeGreaterThan(0)
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    return figures
  }

  it('between a node and Redis moves its actors to the other node within lease + 2 s', async () => {
    const { gap, recovered } = await cutUnderLoad((_one, two) => [two.connections.redis])
    expectWithin(gap, FAIL_OVER_MS)
    expectWithin(recovered, FAIL_OVER_MS)
  })

  it('between a node and PostgreSQL moves its actors to the other node within 7 s', async () => {
    const { gap, recovered } = await cutUnderLoad((_one, two) => [two.connections.database], DATABASE_CUT_MS)
    expectWithin(gap, DATABASE_CUT_MS)
    expectWithin(recovered, DATABASE_CUT_MS)
  })

  it('between two nodes lets each serve its own actors and reject other commands in time, and recovers', async () => {
    const { ownGap, recovered } = await cutUnderLoad((one, two) => [one.connections.links, two.connections.links])
    expectWithin(ownGap, LEASE_MS)
    expectWithin(recovered, 5_000)
  })
})
