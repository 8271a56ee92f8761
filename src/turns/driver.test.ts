import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startRedis, type TestRedis } from '../../test/support/redis.ts'
import { waitFor } from '../../test/support/wait.ts'
import type { ActorHost } from '../../actors/index.ts'
import { systemClock } from '../core/clock.ts'
import { createLog } from '../core/log.ts'
import { actorDriver, type ClusterSettings, type Driver } from './driver.ts'

const ALONE: ClusterSettings = {
  REDIS_URL: undefined,
  CLUSTER_HOST: '127.0.0.1',
  CLUSTER_PORT: 0,
  CLUSTER_ADDRESS: undefined,
  CLUSTER_SECRET: undefined,
  CLUSTER_CERT: undefined,
  CLUSTER_KEY: undefined,
  CLUSTER_CA: undefined,
}

const host: ActorHost = {
  activate: async () => 1,
  execute: async (_actor, _epoch, commands) => commands.map(({ payload }) => ({ ok: true, value: payload })),
}

const folder = mkdtempSync(join(tmpdir(), 'crier-driver-'))
let redis: TestRedis
const drivers: Driver[] = []

beforeAll(async () => {
  redis = await startRedis()
})
afterEach(async () => {
  for (const { actors } of drivers.splice(0)) await actors.close(1_000)
})
afterAll(async () => {
  await redis.stop()
  rmSync(folder, { recursive: true })
})

function start(settings: Partial<ClusterSettings>, secret = 'a secret of these tests, long enough'): Driver {
  const driver = actorDriver({
    config: { ...ALONE, ...settings },
    host,
    clock: systemClock,
    log: createLog({ level: 'silent' }),
    secret,
    onNodeLost: () => undefined,
  })
  drivers.push(driver)
  return driver
}

const run = ({ actors }: Driver, actor = 'ws:1') =>
  actors.run({
    actor,
    operationId: `one of ${actor}`,
    caller: 'ada',
    deadline: performance.now() + 20_000,
    payload: { kind: 'system', name: 'greet', input: 'hello' },
  })

test('a node without Redis runs its actors alone, and is ready at once', async () => {
  const driver = start({})
  await driver.ready
  expect(await run(driver)).toMatchObject({ input: 'hello' })
  expect(driver.actors.stats().active).toBe(1)
})

test('commands that come before the links are open wait for them', async () => {
  const driver = start({ REDIS_URL: redis.url })
  expect(driver.actors.stats().active).toBe(0)
  expect(await run(driver)).toMatchObject({ input: 'hello' })
  await driver.ready
  expect(driver.actors.stats().active).toBe(1)
})

test.each([
  ['its own host and the port that it got', undefined, /^127\.0\.0\.1:[1-9]\d*$/],
  ['the configured address', 'node-7.example:7777', /^node-7\.example:7777$/],
])('a node tells the others %s', async (_what, CLUSTER_ADDRESS, address) => {
  const driver = start({ REDIS_URL: redis.url, CLUSTER_ADDRESS })
  await driver.ready
  await run(driver)
  const owners = await driver.actors.owners()
  const own = owners.find(({ actors }) => actors.some(({ actor }) => actor === 'ws:1'))
  expect(own?.address).toMatch(address)
})

/** Two nodes that are linked to each other. */
async function startTwo(settings: Partial<ClusterSettings> = {}): Promise<[Driver, Driver]> {
  const [one, other] = ['a secret of one node only, long enough', 'a secret of another node, long enough']
  const own = settings.CLUSTER_SECRET === undefined ? [] : [one, other]
  const all = { REDIS_URL: redis.url, ...settings }
  const nodes: [Driver, Driver] = [start(all, own[0]), start(all, own[1])]
  for (const { actors, ready } of nodes) {
    await ready
    await waitFor(() => actors.stats().cluster?.nodes === nodes.length, { what: 'both nodes' })
  }
  return nodes
}

test('every node lists each actor once, at the node that owns it', async () => {
  const nodes = await startTwo()
  const names = Array.from({ length: 16 }, (_, index) => `ws:${index + 100}`)
  for (const name of names) await run(nodes[0], name)
  for (const { actors } of nodes) {
    const listed = (await actors.owners()).flatMap((node) => node.actors.map(({ actor }) => actor))
    expect(listed.toSorted()).toEqual(names)
  }
})

test('nodes authenticate their links with the configured secret', async () => {
  const nodes = await startTwo({ CLUSTER_SECRET: 'the secret of the cluster, long enough' })
  const names = Array.from({ length: 16 }, (_, index) => `ws:${index + 200}`)
  for (const name of names) expect(await run(nodes[0], name)).toMatchObject({ input: 'hello' })
  expect(nodes[1].actors.stats().active).toBeGreaterThan(0)
})

test('a node whose port is in use reports that when it is ready, and for each command', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const unhandled: unknown[] = []
  const hear = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', hear)
  const driver = start({ REDIS_URL: redis.url, CLUSTER_PORT: port })
  drivers.pop()
  await expect(run(driver)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await new Promise(setImmediate)
  process.off('unhandledRejection', hear)
  expect(unhandled).toEqual([])
  await expect(driver.ready).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await expect(driver.actors.owners()).rejects.toMatchObject({ code: 'EADDRINUSE' })
  server.close()
})

test('a node that closes also closes its links to other nodes', async () => {
  const [one] = await startTwo()
  await one.actors.owners()
  const states = () => one.actors.stats().cluster?.links.map(({ state }) => state)
  expect(states()).toEqual(['open'])
  await one.actors.close(1_000)
  expect(states()).toEqual([])
})

test('certificates that cannot be read stop the start, and the error names the settings', () => {
  const missing = join(folder, 'missing.pem')
  const files = { CLUSTER_CERT: missing, CLUSTER_KEY: missing, CLUSTER_CA: missing }
  expect(() => start({ REDIS_URL: redis.url, ...files })).toThrow(
    /^CLUSTER_CERT, CLUSTER_KEY and CLUSTER_CA cannot be used: .*missing\.pem/,
  )
})
