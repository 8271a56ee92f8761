import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startJobNode, type JobNode, type JobNodeOptions } from '../../test/support/jobs.ts'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { startRedis, type TestRedis } from '../../test/support/redis.ts'
import { waitFor } from '../../test/support/wait.ts'
import { ManualClock, systemClock } from '../core/clock.ts'
import { job } from '../core/job.ts'
import type { ServiceStatus } from '../core/service-switch.ts'
import { Type } from '../core/schema.ts'
import type { Database } from '../db/database.ts'
import { Holding } from './holding.ts'
import type { StoreChoice } from './stores.ts'

const ran: string[] = []
let fails = 0
let onRun: (() => void) | undefined
const declare = (name: `${string}.${string}`, queue: 'default' | 'media' | 'mail') =>
  job({
    name,
    summary: 'Runs',
    queue,
    data: Type.Object({ n: Type.Integer() }),
    backoff: { firstMs: 5, maxMs: 5 },
    run: async ({ data }) => {
      ran.push(`${name} ${data.n}`)
      onRun?.()
      if (fails-- > 0) throw new Error('not yet')
    },
  })
const plain = declare('shop.plain', 'default')
const heavy = declare('shop.heavy', 'media')
const other = declare('office.plain', 'default')
/** Not in `serviceOf`, so it always runs. */
const own = declare('shop.own', 'default')
const jobs = [plain, heavy, other, own]
const serviceOf = new Map([
  [plain.name, 'shop'],
  [heavy.name, 'shop'],
  [other.name, 'office'],
])

/** The switches of one node. */
class NodeSwitches {
  readonly isOff = new Set<string>()
  readonly #listeners = new Set<(changed: ServiceStatus) => void>()

  isOn(service: string): boolean {
    return !this.isOff.has(service)
  }

  onChange(listener: (changed: ServiceStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  switch(key: string, enabled: boolean): void {
    if (enabled) this.isOff.delete(key)
    else this.isOff.add(key)
    const status = enabled ? 'operational' : 'disabled'
    for (const listener of this.#listeners) listener({ key, enabled, status, updatedAt: null })
  }
}

describe.each(['postgres', 'redis'] as const)('on %s', (kind) => {
  let created: TestDatabase
  let redis: TestRedis | undefined
  let store: StoreChoice
  let switches: NodeSwitches
  const nodes: JobNode[] = []

  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedis() : undefined
    created = await createDatabase()
    store = redis === undefined ? { kind: 'postgres', url: created.url } : { kind: 'redis', url: redis.url }
  })
  afterEach(async () => {
    await nodes[0]?.database.run('truncate outbox, finished_jobs')
    for (const node of nodes.splice(0)) await node.stop()
    ran.length = 0
    fails = 0
    onRun = undefined
  })
  afterAll(async () => {
    await redis?.stop()
    await created?.drop()
  })

  async function start(options: Partial<JobNodeOptions> = {}): Promise<JobNode> {
    switches = new NodeSwitches()
    const node = await startJobNode({ databaseUrl: created.url, store, jobs, switches, serviceOf, ...options })
    nodes.push(node)
    return node
  }

  const rows = ({ database }: JobNode) =>
    database.rows<{ name: string; state: string; attempts: number; key: string | null }>(
      'select name, state, attempts, key from outbox order by id',
    )

  test('due jobs of a service that is off wait, and run in full when it is on', async () => {
    const node = await start()
    switches.switch('shop', false)
    await node.jobs.add(node.database, plain, { n: 1 }, { key: 'one' })
    await node.jobs.add(node.database, heavy, { n: 2 })
    await node.jobs.add(node.database, other, { n: 3 })
    await node.jobs.add(node.database, own, { n: 4 })
    await waitFor(async () => ran.length === 2 && (await rows(node)).every(({ state }) => state === 'held'))
    expect(ran.toSorted()).toEqual(['office.plain 3', 'shop.own 4'])
    expect(await rows(node)).toEqual([
      { name: plain.name, state: 'held', attempts: 0, key: 'one' },
      { name: heavy.name, state: 'held', attempts: 0, key: null },
    ])
    await node.jobs.add(node.database, plain, { n: 5 }, { key: 'one' })
    expect(await rows(node)).toHaveLength(2)
    switches.switch('shop', true)
    await waitFor(async () => (await rows(node)).length === 0)
    expect(ran.slice(2).toSorted()).toEqual(['shop.heavy 2', 'shop.plain 1'])
    expect(node.runs.map(({ row }) => row.attempts)).toEqual([1, 1, 1, 1])
  })

  test('a job that a queue already has is held when a worker gets it, without an attempt', async () => {
    const node = await start({ idle: true })
    const { database, jobs: service } = node
    const id = await service.add(database, plain, { n: 1 })
    const holding = new Holding({ database, clock: systemClock, switches, serviceOf, everyMs: 0 }, () => undefined)
    await service.outbox.claimDue(1)
    expect(await holding.hold(id, plain.name)).toBe(false)
    switches.switch('shop', false)
    expect(await holding.hold(id, plain.name)).toBe(true)
    expect(await rows(node)).toMatchObject([{ state: 'held', attempts: 0 }])
    switches.switch('shop', true)
    await holding.apply()
    expect(await rows(node)).toMatchObject([{ state: 'waiting', attempts: 0 }])
    holding.close()
  })

  test('a retry that is due while the service is off waits, and the failed attempt counts once', async () => {
    const node = await start()
    fails = 1
    onRun = () => switches.switch('shop', ran.length > 1)
    await node.jobs.add(node.database, plain, { n: 1 })
    await waitFor(async () => (await rows(node))[0]?.state === 'held')
    expect(await rows(node)).toMatchObject([{ attempts: 1 }])
    switches.switch('shop', true)
    await waitFor(async () => (await rows(node)).length === 0)
    expect(node.runs.map(({ row, outcome }) => [row.attempts, outcome])).toEqual([
      [1, 'again'],
      [2, 'done'],
    ])
  })

  test('a node that starts finds jobs that are held for a service that is on by now', async () => {
    const first = await start()
    switches.switch('shop', false)
    await first.jobs.add(first.database, plain, { n: 1 })
    await waitFor(async () => (await rows(first))[0]?.state === 'held')
    await first.stop()
    nodes.length = 0
    const second = await start()
    await waitFor(async () => (await rows(second)).length === 0)
    expect(ran).toEqual(['shop.plain 1'])
  })
})

/** Holding on a database in which a statement finds as many rows as the test says. */
function startHolding() {
  const statements: string[] = []
  const found = { release: 0, alone: 0, inLine: 0 }
  const kindOf = (text: string) =>
    text.includes(`where state = 'held'`) ? 'release' : text.includes('"line" is null') ? 'alone' : 'inLine'
  const run = async (text: string) => {
    statements.push(kindOf(text))
    return found[kindOf(text)]
  }
  const clock = new ManualClock()
  const own = new NodeSwitches()
  const database = { run } as unknown as Database
  let changes = 0
  const holding = new Holding({ database, clock, switches: own, serviceOf, everyMs: 5_000 }, () => void (changes += 1))
  const apply = async () => {
    const more = await holding.apply()
    return [more, ...statements.splice(0)]
  }
  return { apply, changes: () => changes, clock, found, holding, own }
}

test('held jobs are looked for at the start, after each interval, and when a service is switched', async () => {
  const { apply, changes, clock, holding, own } = startHolding()
  expect([await apply(), await apply()]).toEqual([[false, 'release'], [false]])
  clock.advance(4_999)
  expect(await apply()).toEqual([false])
  clock.advance(1)
  expect([await apply(), await apply()]).toEqual([[false, 'release'], [false]])
  own.switch('shop', false)
  expect([changes(), await apply(), await apply()]).toEqual([
    1,
    [false, 'release', 'alone', 'inLine'],
    [false, 'alone', 'inLine'],
  ])
  own.switch('shop', true)
  expect([await apply(), await apply()]).toEqual([[false, 'release'], [false]])
  holding.close()
  own.switch('shop', false)
  expect(changes()).toBe(2)
})

test('a statement that finds a thousand jobs is repeated', async () => {
  const { apply, found, own } = startHolding()
  own.switch('shop', false)
  found.release = 1_000
  expect([await apply(), await apply()].map(([more, first]) => [more, first])).toEqual([
    [true, 'release'],
    [true, 'release'],
  ])
  found.release = 999
  expect((await apply()).slice(0, 2)).toEqual([false, 'release'])
  for (const kind of ['alone', 'inLine'] as const) {
    found[kind] = 1_000
    expect(await apply()).toEqual([true, 'alone', 'inLine'])
    found[kind] = 999
    expect(await apply()).toEqual([false, 'alone', 'inLine'])
  }
})
