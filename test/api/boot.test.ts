import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'

let app: App
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app?.stop())

test('a node boots in this process and answers', async () => {
  const health = await app.send('GET /api/health')
  expect(health.status).toBe(200)
  expect(health.body).toMatchObject({ status: true, data: { uptimeSeconds: expect.any(Number) } })
  expect(app.logs.some((line) => line['op'] === 'getHealth')).toBe(true)
  const ready = await app.send('GET /api/ready')
  expect(ready.body.data).toMatchObject({ ready: true, checks: { database: { ok: true } } })
})
