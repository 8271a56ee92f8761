import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Registry } from 'prom-client'
import { startAdminServer } from '../../src/http/admin-server.ts'
import { startApp, type App } from '../support/app.ts'

let app: App
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app?.stop())

test('/metrics has figures of requests, actors, database and event loop', async () => {
  await app.send('GET /api/health')
  await app.send('GET /api/services/unknown/status')
  const response = await fetch(`${app.node.adminUrl}/metrics`)
  expect(response.headers.get('content-type')).toContain('text/plain')
  const text = await response.text()
  expect(text).toMatch(/crier_http_request_seconds_count\{op="getHealth",status="2xx"\} [1-9]/)
  expect(text).toMatch(/crier_http_request_seconds_count\{op="getServiceStatus",status="4xx"\} 1/)
  expect(text).toMatch(/crier_http_in_flight 0/)
  expect(text).toMatch(/crier_actors_active \d/)
  expect(text).toMatch(/crier_actors_turns_total \d/)
  expect(text).toMatch(/crier_actors_turn_seconds_bucket\{le="0.005"\} \d/)
  expect(text).toMatch(/crier_actors_batch_turns_bucket\{le="\+Inf"\} \d/)
  expect(text).toMatch(/crier_database_connections [1-9]/)
  expect(text).toMatch(/nodejs_eventloop_lag_p99_seconds \d/)
  for (const line of text.split('\n').filter((row) => row !== '' && !row.startsWith('#'))) {
    expect(line).toMatch(/^[a-z_:][\w:]*(\{.*\})? \S+( \d+)?$/i)
  }
})

test('/healthz answers, anything else is 404, and only GET is taken', async () => {
  const alive = await fetch(`${app.node.adminUrl}/healthz`)
  expect([alive.status, await alive.json()]).toEqual([200, { status: 'alive', version: expect.any(String) }])
  expect((await fetch(`${app.node.adminUrl}/`)).status).toBe(404)
  expect((await fetch(`${app.node.adminUrl}/constructor`)).status).toBe(404)
  expect((await fetch(`${app.node.adminUrl}/metrics`, { method: 'POST' })).status).toBe(405)
})

test('the API’s port has none of it', async () => {
  expect((await app.send('GET /metrics')).status).toBe(404)
})

test('a port that was asked for and is taken is an error that says what to do; the usual one gives way', async () => {
  const blocker = createServer()
  await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve))
  const { port } = blocker.address() as { port: number }
  const options = { host: '127.0.0.1', metrics: new Registry(), version: '1' }
  await expect(startAdminServer({ ...options, port })).rejects.toThrow(/ADMIN_PORT/)
  const first = await startAdminServer({ ...options, port: undefined })
  const second = await startAdminServer({ ...options, port: undefined })
  expect(first.url).not.toBe(second.url)
  await Promise.all([first.close(), second.close()])
  blocker.close()
})
