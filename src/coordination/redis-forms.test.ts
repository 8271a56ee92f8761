import { afterEach, expect, test } from 'vitest'
import { createLog } from '../core/log.ts'
import { systemClock } from '../core/clock.ts'
import { LEASE_CONNECTION, RedisLeaseStore } from '../../actors/redis-lease-store.ts'
import { startRedisAs, waitForRole, type FormedRedis, type RedisForm } from '../../test/support/redis-forms.ts'
import type { TestRedis } from '../../test/support/redis.ts'
import { waitFor } from '../../test/support/wait.ts'
import { redisClient } from '../core/redis-client.ts'
import { RedisRateLimiter } from './rate-limiter.ts'
import { RedisCoordination } from './redis.ts'

const log = createLog({ level: 'silent' })
const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step()
})

async function started(form: RedisForm): Promise<FormedRedis> {
  const servers = await startRedisAs(form)
  undo.push(() => servers.stop())
  return servers
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
  const { url } = await started('TLS')
  await expectToWork(url)
  const [address = ''] = url.split('?')
  const untrusting = new RedisCoordination(address, log)
  undo.push(() => untrusting.close())
  await expect(untrusting.connect()).rejects.toThrow(/certificate/)
  expect(() => redisClient(`${address}?ca=/missing`, LEASE_CONNECTION)).toThrow(
    'ca=/missing cannot be read. Name a file that this user can read',
  )
})

test('a node reads again what another could not send', async () => {
  const { url } = await started('TLS')
  const node = await expectToWork(url)
  const other = new RedisCoordination(url, log)
  undo.push(() => other.close())
  await other.connect()
  await waitFor(() => other.linked)
  const again: string[] = []
  node.onRecovered(() => again.push('node'))
  other.onRecovered(() => again.push('other'))
  other.commands.disconnect(true)
  other.publish('news', { number: 2 })
  await waitFor(() => again.length > 0)
  expect(again).toEqual(['node'])
})

test.for(['kill', 'hang'] as const)('sentinels, through a failover after a %s of the primary', async (how) => {
  const { servers, url } = await started('sentinels')
  const node = await expectToWork(url)
  const [primary, replica] = servers as [TestRedis, TestRedis]
  const recovered = new Promise<void>((resolve) => node.onRecovered(resolve))
  await primary[how]()
  await waitForRole(replica, 'role:master')
  await recovered
  await expectToWork(url)
  await waitFor(async () => (await node.commands.set('after', 'failover')) === 'OK')
})

test('a cluster of three', async () => {
  await expectToWork((await started('cluster')).url)
})
