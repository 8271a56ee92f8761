import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.ts'
import { Cluster, FAIL_OVER_MS, LEASE_MS, type TestNode } from './actors-cluster.ts'
import type { Wire } from './actors-namespaces.ts'
import { ACTORS, faultsOf, Load } from './actors-load.ts'

const PARTED_MS = LEASE_MS + 4_000
/** Probes notice a lost database, at intervals of their own. */
const CUT_OFF_MS = 7_000

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start()
})
afterEach(() => cluster.clear())
afterAll(() => cluster.stop())

describe('a partition', () => {
  /** Cuts connections of node two under load, restores them, and waits until all actors are served again. */
  async function part(wiresOf: (one: TestNode, two: TestNode) => Wire[], partedMs = PARTED_MS) {
    let [one, two] = await Promise.all([cluster.startNode('one'), cluster.startNode('two')])
    await waitFor(async () => (await one.stats()).cluster?.nodes === 2)
    const load = new Load()
    load.add(one)
    load.add(two)
    await waitFor(() => load.acknowledged > 200, { timeoutMs: 20_000 })
    await cluster.settled()
    // Cut off the node that owns the most actors.
    const [first, second] = [await one.stats(), await two.stats()]
    if ((first.cluster?.owned ?? 0) > (second.cluster?.owned ?? 0)) [one, two] = [two, one]
    const { address } = (await two.stats()).cluster ?? {}
    const owned = (await one.owners()).find((row) => row.address === address)?.actors.map((row) => row.actor) ?? []
    const wires = wiresOf(one, two)
    for (const wire of wires) wire.part()
    await delay(partedMs)
    for (const wire of wires) wire.heal()
    const healed = performance.now()
    await waitFor(() => load.flowsSince(healed, [one, two]), {
      timeoutMs: 25_000,
      what: 'every node to reach every actor',
    })
    const recovered = performance.now() - healed
    const sent = await load.stop()
    const answers: Record<string, number> = {}
    for (const { answer } of sent) {
      const key = answer.ok ? 'acknowledged' : (answer.reason ?? '').slice(0, 40)
      answers[key] = (answers[key] ?? 0) + 1
    }
    const gap = load.longestGap([one], owned)
    const mine = load.longestGap(
      [one],
      ACTORS.filter((actor) => !owned.includes(actor)),
    )
    const facts = { gap, mine, recovered }
    console.log(expect.getState().currentTestName, JSON.stringify(facts), JSON.stringify(answers))
    expect(owned.length).toBeGreaterThan(0)
    expect(faultsOf(await cluster.log(), sent)).toEqual([])
    return facts
  }

  it('between a node and Redis moves its actors to the other node within lease + 2 s', async () => {
    const { gap, recovered } = await part((_one, two) => [two.wires.redis])
    expect(gap).toBeLessThan(FAIL_OVER_MS)
    expect(recovered).toBeLessThan(FAIL_OVER_MS)
  })

  it('between a node and PostgreSQL moves its actors to the other node within 7 s', async () => {
    const { gap, recovered } = await part((_one, two) => [two.wires.database], CUT_OFF_MS)
    expect(gap).toBeLessThan(CUT_OFF_MS)
    expect(recovered).toBeLessThan(CUT_OFF_MS)
  })

  it('between two nodes lets each serve its own actors and reject the rest in time, and ends cleanly', async () => {
    const { mine, recovered } = await part((one, two) => [one.wires.links, two.wires.links])
    expect(mine).toBeLessThan(LEASE_MS)
    expect(recovered).toBeLessThan(5_000)
  })
})
