import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import { createLog } from '../core/log.ts'
import { systemClock } from '../core/clock.ts'
import { LEASE_CONNECTION, RedisLeaseStore } from '../../actors/redis-lease-store.ts'
import { freeLoopbackPort } from '../setup/free-port.ts'
import { testAuthority } from '../../test/support/certificates.ts'
import { startRedis, startSentinel, type TestRedis } from '../../test/support/redis.ts'
import { toolPath } from '../../test/support/tools.ts'
import { waitFor } from '../../test/support/wait.ts'
import { redisClient } from '../core/redis-client.ts'
import { RedisRateLimiter } from './rate-limiter.ts'
import { RedisCoordination } from './redis.ts'

const log = createLog({ level: 'silent' })
const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step()
})

async function started(settings: Record<string, string> = {}): Promise<TestRedis> {
  const server = await startRedis(settings)
  undo.push(() => server.stop())
  return server
}

/** Notices, rate limits and leases, each with its own kind of connection. */
async function expectToWork(url: string): Promise<RedisCoordination> {
  const nodes = [new RedisCoordination(url, log), new RedisCoordination(url, log)] as const
  for (const node of nodes) undo.push(() => node.close())
  await Promise.all(nodes.map((node) => node.connect()))
  await waitFor(() => nodes.every(({ linked }) => linked))
  const heard = new Promise((resolve) => nodes[1].subscribe('news', resolve))
  nodes[0].publish('news', { number: 1 })
  expect(await heard).toEqual({ number: 1 })
  const limiter = new RedisRateLimiter(nodes[0].commands, systemClock, log)
  const before = await limiter.take('mail', 'ada')
  expect((await new RedisRateLimiter(nodes[1].commands, systemClock, log).take('mail', 'ada')).remaining).toBe(
    before.remaining - 1,
  )
  const store = new RedisLeaseStore({ url: (options) => redisClient(url, options) })
  undo.push(() => store.close())
  const self = { inc: 'a', address: 'a:1', state: 'active' } as const
  expect((await store.beat(self, 60_000, { first: true })).live).toBe(true)
  expect(await store.locate('x', ['a'])).toEqual(self)
  return nodes[0]
}

test('TLS with an authority of its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crier-test-tls-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const { ca, cert, key } = testAuthority('crier test').issue('localhost')
  const files = { ca, cert, key }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const port = await freeLoopbackPort()
  await started({
    'tls-port': String(port),
    'tls-cert-file': join(folder, 'cert'),
    'tls-key-file': join(folder, 'key'),
    'tls-ca-cert-file': join(folder, 'ca'),
    'tls-auth-clients': 'no',
  })
  await expectToWork(`rediss://localhost:${port}?ca=${join(folder, 'ca')}`)
  const untrusting = new RedisCoordination(`rediss://localhost:${port}`, log)
  undo.push(() => untrusting.close())
  await expect(untrusting.connect()).rejects.toThrow(/certificate/)
  expect(() => redisClient(`rediss://localhost:${port}?ca=/missing`, LEASE_CONNECTION)).toThrow(
    'ca=/missing cannot be read. Name a file that this user can read',
  )
})

test('sentinels, through a failover', async () => {
  const primary = await started()
  const replica = await started({ replicaof: `127.0.0.1 ${new URL(primary.url).port}` })
  const sentinel = await startSentinel(primary.url)
  undo.push(() => sentinel.stop())
  const node = await expectToWork(sentinel.url)
  const desk = new Redis(sentinel.url.replace('redis+sentinel', 'redis').replace('/crier', ''))
  undo.push(() => desk.disconnect())
  await waitFor(async () => ((await desk.call('SENTINEL', 'REPLICAS', 'crier')) as unknown[]).length === 1)
  const second = new Redis(replica.url)
  undo.push(() => second.disconnect())
  await waitFor(async () => (await second.info('replication')).includes('master_link_status:up'))
  await primary.kill()
  await waitFor(async () => (await second.info('replication')).includes('role:master'))
  await waitFor(() => node.linked)
  await expectToWork(sentinel.url)
  expect(await node.commands.set('after', 'failover')).toBe('OK')
})

test('a cluster of three', async () => {
  const settings = async () => ({ 'cluster-enabled': 'yes', 'cluster-port': String(await freeLoopbackPort()) })
  const servers = [await started(await settings()), await started(await settings()), await started(await settings())]
  const hosts = servers.map(({ url }) => new URL(url).host)
  const { command, env } = toolPath('redis-cli')
  const made = spawnSync(command, ['--cluster', 'create', ...hosts, '--cluster-yes'], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  expect(made.stdout).toContain('All 16384 slots covered')
  await expectToWork(`redis+cluster://${hosts.join(',')}`)
})
