import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'

let server: TestRedis
let redis: Redis
let app: App
let owner: SeededUser
let workspaceId: string

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
  app = await startApp({ redisUrl: server.url })
  owner = await seedUser(app, 'full-owner', { plan: 'business' })
  workspaceId = await seedWorkspace(app, 'full', owner)
})
afterAll(async () => {
  redis.disconnect()
  await app.stop()
  await server.stop()
})

test('turns go on while Redis is full, and operators are told', async () => {
  const ready = async () => (await fetch(`${app.node.adminUrl}/ready`)).json()
  expect(await ready()).not.toHaveProperty('warnings')
  await redis.config('SET', 'maxmemory', '1')
  await expect(redis.set('more', 'x')).rejects.toThrow('OOM')
  // A workspace of which Redis knows no owner, too.
  const other = await seedWorkspace(app, 'full-other', owner)
  for (const workspace of [workspaceId, other]) {
    const body = { workspaceId: workspace, content: 'while Redis is full' }
    const reply = await app.send('POST /api/posts', { apiKey: owner.apiKey, body })
    expect(reply.status, reply.text).toBe(201)
  }
  expect(await ready()).toMatchObject({ ready: true, warnings: [expect.stringContaining('Redis is full')] })
})
