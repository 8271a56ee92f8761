import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { createLog } from '../core/log.ts'
import { startRedis, type TestRedis } from '../../test/support/redis.ts'
import { RedisRateLimiter } from './rate-limiter.ts'
import { memoryWarnings } from './redis-memory.ts'

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const limit = (bytes: string, policy: string) =>
  Promise.all([redis.config('SET', 'maxmemory', bytes), redis.config('SET', 'maxmemory-policy', policy)])
beforeEach(() => limit('0', 'noeviction'))

test.each([
  ['0', 'allkeys-random', []],
  ['1gb', 'noeviction', []],
  ['1gb', 'allkeys-random', [/maxmemory-policy is allkeys-random. Set it to noeviction/]],
  ['1gb', 'volatile-lru', [/maxmemory-policy is volatile-lru/]],
  ['1', 'noeviction', [/^Redis is full/]],
])('with maxmemory %s and %s', async (bytes, policy, expected) => {
  await limit(bytes, policy)
  const warnings = await memoryWarnings(redis)
  expect(warnings).toHaveLength(expected.length)
  for (const [index, text] of expected.entries()) expect(warnings[index]).toMatch(text)
})

test('nodes share their limits even if Redis is full', async () => {
  await limit('1', 'noeviction')
  const nodes = [1, 2].map(() => new RedisRateLimiter(redis, systemClock, createLog({ level: 'silent' })))
  const taken = [await nodes[0]?.take('mail', 'ada'), await nodes[1]?.take('mail', 'ada')]
  expect(taken[1]?.remaining).toBe((taken[0]?.remaining ?? 0) - 1)
})
