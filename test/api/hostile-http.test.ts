import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { RATE_LIMITS } from '../../src/core/limits.ts'
import type { App } from '../support/app.ts'
import { slowBodies, unreadPipelines, type Attack } from '../support/http-attacks.ts'
import { gate, startProbe } from '../support/probe.ts'
import { exchangeBytes } from '../support/raw-http.ts'
import { waitFor } from '../support/wait.ts'

const MOST_REQUESTS = 3
const clock = new ManualClock()
let app: App
let attacks: Attack[] = []

beforeAll(async () => {
  ;({ app } = await startProbe({ clock, rateLimits: true, env: { MOST_REQUESTS: String(MOST_REQUESTS) } }))
})
afterEach(async () => {
  for (const attack of attacks) attack.stop()
  attacks = []
  clock.advance(60 * SECOND)
  await waitFor(async () => (await metric('crier_http_bodies_pending')) === 0)
  await waitFor(async () => (await metric('crier_http_replies_pending')) === 0)
})
afterAll(() => app?.stop())

async function begin(attack: Promise<Attack>): Promise<Attack> {
  const begun = await attack
  attacks.push(begun)
  return begun
}

async function metric(name: string): Promise<number> {
  const found = await app.node.resources.metrics.getSingleMetric(name)?.get()
  return found?.values[0]?.value ?? -1
}

describe('bodies that do not arrive', () => {
  test('do not count as requests in progress', async () => {
    await begin(
      slowBodies({
        port: app.port,
        route: 'POST /api/probe/things',
        announced: 20_000,
        connections: 5 * MOST_REQUESTS,
      }),
    )
    await waitFor(async () => (await metric('crier_http_bodies_pending')) === 5 * MOST_REQUESTS)
    for (const route of ['GET /api/health', 'GET /api/ready', 'GET /api/services', 'POST /api/probe/secret']) {
      expect([route, (await app.send(route)).status]).not.toContain(503)
    }
    expect(await metric('crier_http_in_flight')).toBe(0)
  })

  test('end with 408 when they arrive too slowly', async () => {
    const { connections } = await begin(
      slowBodies({ port: app.port, route: 'POST /api/probe/things', announced: 20_000, connections: 2, everyMs: 50 }),
    )
    await waitFor(async () => (await metric('crier_http_bodies_pending')) === 2)
    clock.advance(11 * SECOND)
    await waitFor(() => connections.every(({ socket }) => socket.closed))
    for (const { received } of connections) expect(received).toMatch(/ 408 Request Timeout[^]*"code":"request_timeout"/)
  })

  test('end with 503, the oldest first, when one network has too many', async () => {
    const { connections } = await begin(
      slowBodies({ port: app.port, route: 'POST /api/probe/things', announced: 20_000, connections: 260 }),
    )
    await waitFor(() => connections.filter(({ socket }) => socket.closed).length === 4)
    expect(await metric('crier_http_bodies_pending')).toBe(256)
    for (const { received } of connections.slice(0, 4)) expect(received).toMatch(/ 503 [^]*"code":"overloaded"/)
    // A body that arrives with its head is still accepted.
    expect((await app.send('POST /api/probe/secret', { token: 'ada' })).status).toBe(200)
  })
})

test('an overloaded server rejects work but still serves health checks', async () => {
  const { arrivals, open } = gate('full')
  const waiting = Array.from({ length: MOST_REQUESTS }, () =>
    app.send('POST /api/probe/wait', { token: 'ada', body: { gate: 'full' } }),
  )
  await waitFor(() => arrivals() === MOST_REQUESTS)
  const refused = [await app.send('GET /api/services'), await app.send('POST /api/probe/secret', { token: 'ada' })]
  expect(refused.map(({ body, status }) => [status, body.code])).toEqual([
    [503, 'overloaded'],
    [503, 'overloaded'],
  ])
  expect((await app.send('GET /api/health')).status).toBe(200)
  expect((await app.send('GET /api/ready')).status).toBe(200)
  open()
  await Promise.all(waiting)
  await waitFor(async () => (await app.send('GET /api/services')).status === 200)
})

describe('clients that do not read', () => {
  test('get no further replies once the connection’s buffer is full', async () => {
    const requests = 60
    // The largest page: the kernel buffers only a few of it per connection.
    const page = '/docs/scalar.js'
    expect((await app.send(`GET ${page}`)).status).toBe(200)
    const flood = unreadPipelines({ port: app.port, connections: 3, requests, request: `GET ${page}` })
    const { connections } = await begin(flood)
    // The server has closed the connections; what it sent before can still be read.
    await waitFor(async () => (await metric('crier_http_replies_pending')) === 0)
    await Promise.all(
      connections.map(async ({ socket }) => {
        socket.resume()
        if (!socket.closed) await once(socket, 'close')
      }),
    )
    for (const { replies } of connections) expect(replies).toBeLessThan(requests / 2)
  })

  test('cannot queue unlimited replies without a body', async () => {
    const { burst } = RATE_LIMITS.bodiless
    const { connections } = await begin(
      unreadPipelines({ port: app.port, connections: 1, requests: burst + 100, request: 'HEAD /api/health' }),
    )
    const [connection] = connections
    connection?.socket.resume()
    await waitFor(() => connection?.socket.closed)
    expect(connection?.replies).toBeLessThanOrEqual(burst)
  })

  test('cannot exceed the rate limit on pages', async () => {
    const { burst } = RATE_LIMITS.page
    const routes = ['GET /api/openapi.json', 'GET /docs', 'GET /nothing', 'DELETE /api/health']
    let last = 200
    for (let sent = 0; sent <= burst && last !== 429; sent += 1) {
      last = (await app.send(routes[sent % routes.length] ?? '')).status
    }
    const refused = await app.send('GET /api/openapi.json')
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await app.send('GET /api/health')).status).toBe(200)
  })
})

describe('requests with ambiguous framing', () => {
  const POST = 'POST /api/probe/secret HTTP/1.1\r\nHost: crier\r\n'
  const GET = 'GET /api/health HTTP/1.1\r\nHost: crier\r\n'
  const CHUNKED = '\r\n2\r\n{}\r\n0\r\n\r\n'
  const SMUGGLED = 'GET /api/health HTTP/1.1\r\nHost: crier\r\nX-Request-Id: smuggled\r\n\r\n'

  test.each([
    ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}`],
    ['the same length twice', `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['an empty length', `${POST}Content-Length: \r\n\r\n`],
    ['xchunked', `${POST}Transfer-Encoding: xchunked\r\n${CHUNKED}`],
    ['gzip, chunked', `${POST}Transfer-Encoding: gzip, chunked\r\n${CHUNKED}`],
    ['two encodings', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n${CHUNKED}`],
    ['an empty encoding', `${POST}Transfer-Encoding: \r\n${CHUNKED}`],
    ['two lengths of a GET', `${GET}Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}`],
    ['xchunked of a GET', `${GET}Transfer-Encoding: xchunked\r\n${CHUNKED}`],
    ['xchunked of no route', `POST /nothing HTTP/1.1\r\nHost: crier\r\nTransfer-Encoding: xchunked\r\n${CHUNKED}`],
    ['xchunked of a page', `GET /docs HTTP/1.1\r\nHost: crier\r\nTransfer-Encoding: xchunked\r\n${CHUNKED}`],
  ])('%s gets 400 and closes the connection', async (_what, request) => {
    const reply = await exchangeBytes(app.port, request)
    expect(reply).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*Connection: close[^]*"code":"bad_request"/)
    expect(reply.split('HTTP/1.1 ')).toHaveLength(2)
  })

  test('the bytes after such a request are never handled', async () => {
    await exchangeBytes(app.port, `${POST}Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}${SMUGGLED}`)
    await exchangeBytes(app.port, `${POST}Transfer-Encoding: xchunked\r\n${CHUNKED}${SMUGGLED}`)
    expect((await app.send('GET /api/health', { headers: { 'X-Request-Id': 'after' } })).status).toBe(200)
    expect(app.logs.filter((line) => ['after', 'smuggled'].includes(String(line['requestId'])))).toHaveLength(1)
  })

  test.each([
    ['both headers', `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n${CHUNKED}`, ' 400 '],
    ['HTTP/1.0', 'GET /api/health HTTP/1.0\r\nHost: crier\r\n\r\n', ' 505 '],
    ['a head over 4 kB', `${GET}Cookie: ${'x'.repeat(5_000)}\r\n\r\n`, ' 431 '],
  ])('uWebSockets.js itself rejects %s', async (_what, request, status) => {
    expect(await exchangeBytes(app.port, request)).toContain(`HTTP/1.1${status}`)
  })

  test('accepts a chunked request', async () => {
    const request = `${POST}Authorization: Bearer ada\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n`
    expect(await exchangeBytes(app.port, request)).toContain(' 200 OK')
  })
})
