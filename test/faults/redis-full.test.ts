import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { PASSWORD, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

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

test('jobs wait in PostgreSQL while Redis is full, and run when it has memory', async () => {
  await redis.config('SET', 'maxmemory', '1')
  const email = 'full-later@example.com'
  const reply = await app.send('POST /api/auth/signup', { body: { email, password: PASSWORD, name: 'Later' } })
  expect(reply.status, reply.text).toBe(201)
  const waiting = () =>
    app.database.rows<{ state: string }>(`select state from outbox where name = 'mail.send' order by id`)
  const refused = () => app.logs.filter(({ msg }) => msg?.startsWith('jobs could not be added to their queues')).length
  await waitFor(() => refused() > 1, { what: 'the queue to refuse the job again' })
  expect(await waiting()).toEqual([{ state: 'waiting' }])
  await redis.config('SET', 'maxmemory', '0')
  expect(await app.outbox.code(email)).toMatch(/^\d{6}$/)
  await waitFor(async () => (await waiting()).length === 0)
})

test('names a policy that removes keys at the start and to administrators, and turns go on', async () => {
  const other = await startRedis({ maxmemory: '3mb', 'maxmemory-policy': 'allkeys-random' })
  const desk = new Redis(other.url)
  const node = await startApp({ redisUrl: other.url })
  try {
    const message = expect.stringContaining('maxmemory-policy is allkeys-random')
    expect(node.node.facts).toContainEqual(['Warning', message])
    const ada = await seedUser(node, 'policy-ada', { admin: true })
    const report = await node.send('GET /api/ready', { apiKey: ada.apiKey })
    expect(report.body.data).toMatchObject({ warnings: [message] })
    const workspace = await seedWorkspace(node, 'policy', ada)
    // Keys are removed as fast as they are written.
    await desk.config('SET', 'maxmemory', '1')
    const lost = () => node.node.composition.actors.stats().cluster?.lostLeases ?? 0
    const before = lost()
    for (let count = 0; lost() < before + 3; count += 1) {
      const body = { workspaceId: workspace, content: `while keys are removed ${count}` }
      const made = await node.send('POST /api/posts', { apiKey: ada.apiKey, body })
      expect(made.status, made.text).toBe(201)
    }
  } finally {
    desk.disconnect()
    await node.stop()
    await other.stop()
  }
})
