import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

let app: App
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app?.stop())

test('starts a node in this process and serves a health check', async () => {
  const health = await app.send('GET /api/health')
  expect(health.status).toBe(200)
  expect(health.body).toMatchObject({ status: true, data: { uptimeSeconds: expect.any(Number) } })
  expect(app.logs.some((line) => line['op'] === 'getHealth')).toBe(true)
  const ready = await app.send('GET /api/ready')
  expect(ready.body.data).toMatchObject({ ready: true, checks: { database: { ok: true } } })
})

test('redirects / to the documentation', async () => {
  const root = await app.send('GET /')
  expect([root.status, root.headers.get('location')]).toEqual([302, '/docs'])
  expect((await app.send('GET /docs')).status).toBe(200)
})

test('/api/ready shows details to administrators only', async () => {
  const world = new World(app)
  await world.user('ada')
  await world.user('root', { admin: true })
  const checks = async (credential: object) => (await app.send('GET /api/ready', credential)).body.data.checks
  for (const credential of [{}, { apiKey: world.key('ada') }]) {
    const report = await checks(credential)
    expect(Object.keys(report)).toEqual(expect.arrayContaining(['database', 'storage', 'mediaWork']))
    for (const check of Object.values(report)) expect(check).toEqual({ ok: true })
  }
  expect(await checks({ apiKey: world.key('root') })).toMatchObject({
    database: { ok: true, latencyMs: expect.any(Number) },
    mediaWork: { details: { freeBytes: expect.any(Number) } },
  })
})
