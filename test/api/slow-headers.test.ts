import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import type { App } from '../support/app.ts'
import { slowHeaders, type Attack } from '../support/http-attacks.ts'
import { startProbe } from '../support/probe.ts'
import { openConnection } from '../support/raw-http.ts'
import { waitFor } from '../support/wait.ts'

/** Connections whose header does not arrive. */

const clock = new ManualClock()
let app: App
let attacks: Attack[] = []

beforeAll(async () => {
  ;({ app } = await startProbe({ clock, env: { SOCKET_POLLING: '1' } }))
})
afterEach(async () => {
  for (const attack of attacks.splice(0)) attack.stop()
  clock.advance(60 * SECOND)
  await waitFor(async () => (await pending()) === 0)
})
afterAll(() => app?.stop())

async function pending(): Promise<number> {
  const found = await app.node.resources.metrics.getSingleMetric('crier_http_connections_pending')?.get()
  return found?.values[0]?.value ?? -1
}

async function attack(connections: number, addresses = 1): Promise<Attack> {
  const begun = await slowHeaders({ port: app.port, connections, addresses, everyMs: 200 })
  attacks.push(begun)
  return begun
}

const openOf = ({ connections }: Attack) => connections.filter(({ socket }) => !socket.closed).length

/** The reply to one request on a new connection; empty if it is closed without one. */
async function ask(request: string, end: string, localAddress?: string): Promise<string> {
  const socket = await openConnection(app.port, localAddress)
  socket.on('error', () => undefined)
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
  socket.write(request)
  await waitFor(() => received.includes(end) || socket.closed)
  socket.destroy()
  return received
}
const HEALTH = 'GET /api/health HTTP/1.1\r\nHost: crier\r\n\r\n'

test('a network keeps 256 of them; others connect as before, and it does too when its own are over', async () => {
  const first = await attack(256)
  await waitFor(async () => (await pending()) === 256)
  clock.advance(3 * SECOND)
  const second = await attack(300)
  await waitFor(() => openOf(second) === 0)
  expect(openOf(first)).toBe(256)
  expect(await ask(HEALTH, '200 OK')).toBe('')
  expect(await ask(HEALTH, '200 OK', '127.0.0.2')).toContain('200 OK')
  clock.advance(30 * SECOND)
  await waitFor(async () => (await pending()) === 0)
  expect(await ask(HEALTH, '200 OK')).toContain('200 OK')
})

test('of 4,000 at once, 1,024 are kept', async () => {
  const begun = await attack(4_000)
  await waitFor(() => openOf(begun) <= 1_024)
  expect(await pending()).toBe(1_024)
  expect(await ask(HEALTH, '200 OK', '127.0.0.2')).toContain('200 OK')
})

test.each([
  ['a request', HEALTH, '200 OK'],
  ['a request that is not found', 'GET /nowhere HTTP/1.1\r\nHost: crier\r\n\r\n', '404 Not Found'],
  ['a preflight', 'OPTIONS /api/health HTTP/1.1\r\nHost: crier\r\n\r\n', '204 No Content'],
  ['a page', 'GET / HTTP/1.1\r\nHost: crier\r\n\r\n', 'HTTP/1.1'],
  ['a body', 'POST /api/probe/secret HTTP/1.1\r\nHost: crier\r\nContent-Length: 2\r\n\r\n{}', '"docUrl"'],
  ['a poll of a socket', 'GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: crier\r\n\r\n', '"sid"'],
  [
    'a WebSocket',
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: crier\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    '101 Switching Protocols',
  ],
])('a connection counts until its first request: %s', async (_, request, reply) => {
  const silent = await attack(1)
  await waitFor(async () => (await pending()) === 1)
  expect(await ask(request, reply)).toContain(reply)
  await waitFor(async () => (await pending()) === 1)
  expect(openOf(silent)).toBe(1)
})

test('many clients that connect, ask and leave are all served', async () => {
  for (let round = 0; round < 4; round += 1) {
    const replies = await Promise.all(Array.from({ length: 150 }, () => ask(HEALTH, '200 OK')))
    expect(replies.every((reply) => reply.includes('200 OK'))).toBe(true)
    clock.advance(SECOND)
  }
  expect(await pending()).toBe(0)
})
