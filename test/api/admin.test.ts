import { request } from 'node:http'
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

/** The status of a page, requested with a host name and headers. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    outgoing.once('error', reject).end()
  })
}

test('/metrics contains metrics of requests, actors, database and event loop', async () => {
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

test('/healthz returns 200, unknown paths return 404, and only GET is allowed', async () => {
  const alive = await fetch(`${app.node.adminUrl}/healthz`)
  for (const path of ['/healthz', '/metrics', '/nothing']) {
    const { headers } = await fetch(`${app.node.adminUrl}${path}`)
    expect([headers.get('x-content-type-options'), headers.get('cache-control')]).toEqual(['nosniff', 'no-store'])
  }
  expect([alive.status, await alive.json()]).toEqual([200, { status: 'alive', version: expect.any(String) }])
  expect((await fetch(`${app.node.adminUrl}/`)).status).toBe(404)
  expect((await fetch(`${app.node.adminUrl}/constructor`)).status).toBe(404)
  expect((await fetch(`${app.node.adminUrl}/metrics`, { method: 'POST' })).status).toBe(405)
})

test('the port of the API does not serve admin pages', async () => {
  expect((await app.send('GET /metrics')).status).toBe(404)
})

const OPTIONS = { host: '127.0.0.1', access: { token: undefined, names: [] as string[] }, version: '1' }
const TOKEN = 'a token of at least thirty-two characters'

test('the admin port refuses unknown host names, which prevents DNS rebinding', async () => {
  const url = `${app.node.adminUrl}/metrics`
  for (const host of ['evil.example:9090', 'localhost.evil.example', '127.0.0.1.evil.example']) {
    expect(await statusOf(url, { host }), host).toBe(421)
  }
  for (const host of ['127.0.0.1', '127.0.0.1:9090', 'localhost:9090', 'LOCALHOST', '[::1]:9090', '10.1.2.3']) {
    expect(await statusOf(url, { host }), host).toBe(200)
  }
})

test('ADMIN_NAMES allows a host name; ADMIN_TOKEN requires a token, and allows every host name with it', async () => {
  const access = { token: TOKEN, names: ['Crier.internal'] }
  const admin = await startAdminServer({ ...OPTIONS, metrics: new Registry(), port: 0, access })
  const basic = (password: string) => `Basic ${Buffer.from(`ops:${password}`).toString('base64')}`
  const page = (host: string, authorization = '') =>
    statusOf(`${admin.url}/metrics`, { host, ...(authorization !== '' && { authorization }) })
  expect(await page('crier.internal:9090')).toBe(401)
  expect(await page('127.0.0.1', 'Bearer wrong')).toBe(401)
  expect(await page('127.0.0.1', basic('wrong'))).toBe(401)
  expect(await page('127.0.0.1', `Bearer ${TOKEN}`)).toBe(200)
  expect(await page('127.0.0.1', basic(TOKEN))).toBe(200)
  expect(await page('prometheus.example', basic(TOKEN))).toBe(200)
  expect(await statusOf(`${admin.url}/healthz`, { host: '127.0.0.1' })).toBe(200)
  expect(await statusOf(`${admin.url}/healthz`, { host: 'evil.example' })).toBe(421)
  await admin.close()
})

test('/ready on the admin port includes all details', async () => {
  const response = await fetch(`${app.node.adminUrl}/ready`)
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ checks: { database: { ok: true, latencyMs: expect.any(Number) } } })
})

test('a failing page returns 500 with the reason, and the port keeps serving', async () => {
  const pages = { '/broken': () => Promise.reject(new Error('the store is away')) }
  const admin = await startAdminServer({ ...OPTIONS, metrics: new Registry(), port: 0, pages })
  const broken = await fetch(`${admin.url}/broken`)
  expect([broken.status, await broken.text()]).toEqual([500, 'the store is away\n'])
  expect((await fetch(`${admin.url}/healthz`)).status).toBe(200)
  await admin.close()
})

test('a configured port that is in use is an error; the default one is replaced by a free port', async () => {
  const blocker = createServer()
  await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve))
  const { port } = blocker.address() as { port: number }
  const options = { ...OPTIONS, metrics: new Registry() }
  await expect(startAdminServer({ ...options, port })).rejects.toThrow(/EADDRINUSE/)
  const first = await startAdminServer({ ...options, port: undefined })
  const second = await startAdminServer({ ...options, port: undefined })
  expect(first.url).not.toBe(second.url)
  await Promise.all([first.close(), second.close()])
  blocker.close()
})
