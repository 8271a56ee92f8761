import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import type { App } from '../support/app.ts'
import { slowHeaders, type Attack } from '../support/http-attacks.ts'
import { startProbe } from '../support/probe.ts'
import { openConnection } from '../support/raw-http.ts'
import { waitFor } from '../support/wait.ts'

/** Connections whose header does not arrive are bounded, and those whose header has arrived are not touched. */

const clock = new ManualClock()
let app: App
let attacks: Attack[] = []
let sockets: Socket[] = []

beforeAll(async () => {
  ;({ app } = await startProbe({ clock, env: { SOCKET_POLLING: '1' } }))
})
afterEach(async () => {
  for (const attack of attacks.splice(0)) attack.stop()
  for (const socket of sockets.splice(0)) socket.destroy()
  clock.advance(60 * SECOND)
  await waitFor(async () => (await pending()) === 0)
})
afterAll(() => app?.stop())

async function pending(): Promise<number> {
  return valueOf('crier_http_headers_pending')
}

async function valueOf(name: string): Promise<number> {
  const found = await app.node.resources.metrics.getSingleMetric(name)?.get()
  return found?.values[0]?.value ?? -1
}

async function begin(attack: Promise<Attack>): Promise<Attack> {
  const begun = await attack
  attacks.push(begun)
  return begun
}

/** A connection that can read its replies one by one. */
async function open(localAddress?: string) {
  const socket = await openConnection(app.port, localAddress)
  sockets.push(socket)
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
  return {
    socket,
    send: (text: string) => void socket.write(text),
    /** The next reply, which contains `end`. */
    reply: async (end: string) => {
      await waitFor(() => received.includes(end) || socket.closed)
      const text = received
      received = ''
      return text
    },
  }
}

const opened = (count: number) => waitFor(async () => (await pending()) === count)
const HEALTH = 'GET /api/health HTTP/1.1\r\nHost: crier\r\n\r\n'
const wait = (parts: { readonly length?: number; readonly chunked?: true }) =>
  `POST /api/probe/wait HTTP/1.1\r\nHost: crier\r\nAuthorization: Bearer ada\r\nContent-Type: application/json\r\n${
    parts.chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${parts.length}`
  }\r\n\r\n`
const BODY = '{"gate":"none"}'

test('a header that trickles has a deadline', async () => {
  const { connections } = await begin(slowHeaders({ port: app.port, connections: 3, everyMs: 50 }))
  await opened(3)
  clock.advance(9 * SECOND)
  const silent = await begin(slowHeaders({ port: app.port, connections: 1 }))
  await opened(4)
  clock.advance(2 * SECOND)
  await waitFor(() => connections.every(({ socket }) => socket.closed))
  expect(silent.connections[0]?.socket.closed).toBe(false)
  clock.advance(9 * SECOND)
  await waitFor(() => silent.connections[0]?.socket.closed === true)
  expect(await pending()).toBe(0)
})

test('the oldest are closed when one network has too many, after a moment in which they do not count', async () => {
  const others = await begin(slowHeaders({ port: app.port, connections: 1 }))
  await opened(1)
  clock.advance(SECOND)
  const { connections } = await begin(slowHeaders({ port: app.port, connections: 258 }))
  await opened(259)
  clock.advance(1.5 * SECOND)
  // Only the first one counts by now.
  expect((await app.send('GET /api/health')).status).toBe(200)
  clock.advance(SECOND)
  await opened(256)
  await waitFor(() => others.connections[0]?.socket.closed === true)
  await waitFor(() => connections.filter(({ socket }) => socket.closed).length === 2)
  expect((await app.send('GET /api/health')).status).toBe(200)
})

test('a header that was complete leaves its connection alone, whatever it requests', async () => {
  // Another connection from the same address, which stays incomplete.
  const silent = await begin(slowHeaders({ port: app.port, connections: 1 }))
  await opened(1)
  const [get, post, late, split, refused, unknown] = [
    await open(),
    await open(),
    await open(),
    await open(),
    await open(),
    await open(),
  ]
  await opened(7)
  get.send(HEALTH)
  expect(await get.reply('200 OK')).toContain('200 OK')
  post.send(wait({ length: BODY.length }) + BODY)
  expect(await post.reply('Through')).toContain('200 OK')
  late.send(wait({ length: BODY.length }))
  await opened(4)
  late.send(BODY)
  expect(await late.reply('Through')).toContain('200 OK')
  split.send(wait({ length: BODY.length }) + BODY.slice(0, 4))
  await opened(3)
  split.send(BODY.slice(4))
  expect(await split.reply('Through')).toContain('200 OK')
  refused.send(`POST /api/probe/things HTTP/1.1\r\nHost: crier\r\nContent-Length: 9\r\n\r\n`)
  await opened(2)
  refused.send('123456789')
  expect(await refused.reply('"docUrl"')).toMatch(/ 4\d\d /)
  unknown.send('POST /nowhere HTTP/1.1\r\nHost: crier\r\nContent-Length: 2\r\n\r\n{}')
  expect(await unknown.reply('"docUrl"')).toContain('404 Not Found')
  await opened(1)
  clock.advance(20 * SECOND)
  await opened(0)
  await waitFor(() => silent.connections[0]?.socket.closed === true)
  for (const connection of [get, post, late, split]) {
    connection.send(wait({ length: BODY.length }) + BODY)
    expect(await connection.reply('Through')).toContain('200 OK')
  }
})

test('bodies of several connections from one address do not get mixed up', async () => {
  await begin(slowHeaders({ port: app.port, connections: 2 }))
  const connections = await Promise.all(Array.from({ length: 8 }, () => open()))
  await opened(10)
  // The heads of all, then the bodies of all, twice: the second time on connections that are kept alive.
  for (let round = 0; round < 2; round += 1) {
    const bodies = connections.map((_, index) => JSON.stringify({ gate: 'x'.repeat(index + 1), wrong: index }))
    connections.forEach(({ send }, index) => send(wait({ length: bodies[index]?.length ?? 0 })))
    await opened(2)
    connections.forEach(({ send }, index) => send(bodies[index] ?? ''))
    const replies = await Promise.all(connections.map(({ reply }) => reply('"docUrl"')))
    for (const reply of replies) expect(reply).toContain('400 Bad Request')
  }
})

test('a chunked body and a WebSocket are served, and nothing that may be theirs is closed', async () => {
  const { connections } = await begin(slowHeaders({ port: app.port, connections: 1 }))
  const chunked = await open()
  const webSocket = await open()
  await opened(3)
  chunked.send(wait({ chunked: true }))
  // Its first part arrives after other requests.
  expect((await app.send('GET /api/health')).status).toBe(200)
  chunked.send(`${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`)
  expect(await chunked.reply('Through')).toContain('200 OK')
  webSocket.send(
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: crier\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  )
  expect(await webSocket.reply('pingInterval')).toContain('101 Switching Protocols')
  // Both have been closed, so their memory is no longer theirs when the deadline is over.
  for (const { socket } of [chunked, webSocket]) {
    socket.destroy()
    if (!socket.closed) await once(socket, 'close')
  }
  clock.advance(20 * SECOND)
  const another = await open()
  another.send(HEALTH)
  expect(await another.reply('200 OK')).toContain('200 OK')
  expect(connections[0]?.socket.closed).toBe(false)
  // uWS closes those that are left.
  clock.advance(41 * SECOND)
  await opened(0)
})

test('engine.io over polling reads its own bodies', async () => {
  await begin(slowHeaders({ port: app.port, connections: 1 }))
  const connection = await open()
  await opened(2)
  connection.send('GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: crier\r\n\r\n')
  const sid = /"sid":"([^"]+)"/.exec(await connection.reply('"sid"'))?.[1]
  const post = await open()
  post.send(
    `POST /socket.io/?EIO=4&transport=polling&sid=${sid} HTTP/1.1\r\nHost: crier\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\n`,
  )
  expect((await app.send('GET /api/health')).status).toBe(200)
  post.send('40')
  expect(await post.reply('ok')).toContain('200 OK')
  clock.advance(60 * SECOND)
  await opened(0)
})

// uWS passes nothing on after these headers, or does not keep the connection. They come in two parts, or in one.
test.each([
  ['no body in two parts', 'POST /api/probe/secret HTTP/1.1\r\nHost: crier\r\nContent-Length: 0\r\n\r\n'],
  ['a GET with a length of zero', 'GET /api/health HTTP/1.1\r\nHost: crier\r\nContent-Length: 0\r\n\r\n'],
  ['a GET that is chunked', 'GET /api/health HTTP/1.1\r\nHost: crier\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['another encoding', 'GET /api/health HTTP/1.1\r\nHost: crier\r\nTransfer-Encoding: gzip\r\n\r\n'],
  ['a wrong length', 'POST /api/probe/secret HTTP/1.1\r\nHost: crier\r\nContent-Length: many\r\n\r\n'],
  ['no length', 'POST /api/probe/secret HTTP/1.1\r\nHost: crier\r\n\r\n'],
  ['a body without a reader', 'POST /nowhere HTTP/1.1\r\nHost: crier\r\nContent-Length: 5\r\n\r\n'],
  ['HTTP/1.0', 'GET /api/health HTTP/1.0\r\n\r\n'],
  ['no HTTP', 'GARBAGE\r\n\r\n'],
  ['too long a header', `GET /api/health HTTP/1.1\r\nHost: crier\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
])('the process survives the deadline of connections that sent this and have closed: %s', async (_, request) => {
  await begin(slowHeaders({ port: app.port, connections: 2 }))
  for (const parts of [[request], [request.slice(0, 20), request.slice(20)], Array.from(request.slice(0, 90))]) {
    const connection = await open()
    for (const part of parts) {
      connection.send(part)
      // Gives the part a packet of its own. Nothing depends on that it has one.
      await new Promise((resolve) => setImmediate(resolve))
    }
    await app.send('GET /api/health')
    connection.socket.resetAndDestroy()
    await app.send('GET /api/health')
  }
  clock.advance(20 * SECOND)
  await app.send('GET /api/health')
  clock.advance(60 * SECOND)
  await opened(0)
  expect((await app.send('GET /api/health')).status).toBe(200)
})

test('requests whose connections are reset at once leave no trace', async () => {
  await begin(slowHeaders({ port: app.port, connections: 1 }))
  for (let sent = 0; sent < 300; sent += 1) {
    const socket = await openConnection(app.port)
    socket.write(wait({ length: BODY.length }) + BODY, () => socket.resetAndDestroy())
  }
  clock.advance(60 * SECOND)
  await opened(0)
  expect((await app.send('GET /api/health')).status).toBe(200)
})

test('a network that has far too many gets no further connections', async () => {
  await begin(slowHeaders({ port: app.port, connections: 1_024, addresses: 1 }))
  await opened(1_024)
  const refused = await open()
  await waitFor(() => refused.socket.closed)
  const other = await open('127.0.0.2')
  other.send(HEALTH)
  expect(await other.reply('200 OK')).toContain('200 OK')
})
