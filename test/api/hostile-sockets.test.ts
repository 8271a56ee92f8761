import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { AttackConnection } from '../support/http-attacks.ts'
import { exchangeBytes, openConnection } from '../support/raw-http.ts'
import { CONNECT_PACKET, EngineClient, floodByPolling } from '../support/socket-attacks.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let polled: App
const sockets = new Sockets(() => app)
const clients: EngineClient[] = []

beforeAll(async () => {
  app = await startApp()
  polled = await startApp({ env: { SOCKET_POLLING: '1' } })
})
afterEach(() => {
  sockets.end()
  for (const { socket } of clients.splice(0)) socket.terminate()
})
afterAll(async () => {
  await app?.stop()
  await polled?.stop()
})

/** The head of the reply to these bytes. */
async function headOf(port: number, bytes: string): Promise<string> {
  const connection = new AttackConnection(await openConnection(port))
  connection.socket.write(bytes)
  try {
    await waitFor(() => connection.received.includes('\r\n\r\n'))
    return connection.received.split('\r\n\r\n')[0] + '\r\n'
  } finally {
    connection.socket.destroy()
  }
}

async function connectWithoutToken(): Promise<EngineClient> {
  const client = await EngineClient.open(app.port)
  clients.push(client)
  return client
}

describe('an unauthenticated connection', () => {
  test('is closed when it floods the server with CONNECT packets', async () => {
    const client = await connectWithoutToken()
    client.flood(CONNECT_PACKET, 2_000)
    await waitFor(() => client.isClosed)
    expect(client.refusals).toBeLessThanOrEqual(3)
  })

  test('is closed after three refused CONNECTs', async () => {
    const client = await connectWithoutToken()
    for (let refusals = 1; refusals <= 3; refusals += 1) {
      client.flood(CONNECT_PACKET, 1)
      await waitFor(() => client.refusals === refusals)
    }
    client.flood(CONNECT_PACKET, 1)
    await waitFor(() => client.isClosed)
    expect(client.refusals).toBe(3)
  })

  test('can send only a few packets of other types', async () => {
    const client = await connectWithoutToken()
    client.flood('3', 17)
    await waitFor(() => client.isClosed)
  })

  test('is closed after one polling payload with many packets', async () => {
    const session = await floodByPolling(polled.port, CONNECT_PACKET, 33_000)
    const poll = await fetch(session)
    expect([poll.status, await poll.text()]).toEqual([400, expect.stringContaining('Session ID unknown')])
  })
})

test('disconnects an authenticated socket that floods the server with packets other than events', async () => {
  const { apiKey } = await new World(app).user('ada')
  const { events, socket } = await sockets.connect(apiKey)
  // Each CONNECT to an unknown namespace gets a reply.
  for (let sent = 0; sent < 400; sent += 1) socket.io.engine.write('0/other,')
  await waitFor(() => socket.disconnected)
  expect(events.at(-1)).toEqual({ name: 'closing', data: { code: 'too_many_messages' } })
})

describe('rejected handshakes', () => {
  test('polling gets 426 with a hint, unless it is allowed', async () => {
    const route = 'GET /socket.io/?EIO=4&transport=polling'
    const refused = await app.send(route)
    expect([refused.status, refused.body.code]).toEqual([426, 'websocket_required'])
    expect(refused.body.message).toContain('transports: ["websocket"]')
    expect((await polled.send(route)).status).toBe(200)
  })

  test('every reply of the socket server forbids content sniffing', async () => {
    const upgrade = (query: string, origin = '') =>
      `GET /socket.io/?${query} HTTP/1.1\r\nHost: crier\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${origin}Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n`
    const plain = (method: string, query: string, headers = '') =>
      `${method} /socket.io/?${query} HTTP/1.1\r\nHost: crier\r\nOrigin: https://elsewhere.example\r\n${headers}Connection: close\r\n\r\n`
    const session = await floodByPolling(polled.port, '3', 1)
    const requests = {
      'a session': plain('GET', 'EIO=4&transport=polling'),
      'an unknown session': plain('GET', 'EIO=4&transport=polling&sid=unknown'),
      'an unknown transport': plain('GET', 'EIO=4&transport=carrier'),
      'a bad method': plain('PUT', 'EIO=4&transport=polling'),
      'a preflight': plain('OPTIONS', 'EIO=4&transport=polling', 'Access-Control-Request-Method: POST\r\n'),
      'a payload without a length': plain(
        'POST',
        `EIO=4&transport=polling&sid=${new URL(session).searchParams.get('sid')}`,
      ),
      'a refused upgrade': upgrade('EIO=3&transport=websocket'),
    }
    for (const [what, bytes] of Object.entries(requests)) {
      const head = await headOf(polled.port, bytes)
      expect(head, what).toMatch(/^HTTP\/1\.1 [2-5]\d\d /)
      expect(head, what).toMatch(/\r\nX-Content-Type-Options: nosniff\r\n/i)
    }
    expect(await headOf(app.port, plain('GET', 'EIO=4&transport=polling'))).toMatch(/nosniff/)
    expect(await headOf(app.port, upgrade('EIO=4&transport=websocket'))).toMatch(/ 101 [^]*nosniff/)
  })

  test('a rejected upgrade closes the connection and discards what follows', async () => {
    const upgrade = `GET /socket.io/?EIO=3&transport=websocket HTTP/1.1\r\nHost: crier\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n`
    expect(await exchangeBytes(app.port, upgrade)).toMatch(
      / 400 Bad Request[^]*"message":"Unsupported protocol version"/,
    )
    expect(await exchangeBytes(app.port, upgrade.repeat(5))).toBe('')
  })
})
