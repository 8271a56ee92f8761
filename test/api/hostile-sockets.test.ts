import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { exchangeBytes } from '../support/raw-http.ts'
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

async function stranger(): Promise<EngineClient> {
  const client = await EngineClient.open(app.port)
  clients.push(client)
  return client
}

describe('a connection that has not said who it is', () => {
  test('ends when it sends one CONNECT after the other', async () => {
    const client = await stranger()
    client.flood(CONNECT_PACKET, 2_000)
    await waitFor(() => client.isClosed)
    expect(client.refusals).toBeLessThanOrEqual(3)
  })

  test('may be refused three times, one after the other', async () => {
    const client = await stranger()
    for (let refusals = 1; refusals <= 3; refusals += 1) {
      client.flood(CONNECT_PACKET, 1)
      await waitFor(() => client.refusals === refusals)
    }
    client.flood(CONNECT_PACKET, 1)
    await waitFor(() => client.isClosed)
    expect(client.refusals).toBe(3)
  })

  test('may send few packets of other kinds', async () => {
    const client = await stranger()
    client.flood('3', 17)
    await waitFor(() => client.isClosed)
  })

  test('sends one payload of many packets by polling, and is gone', async () => {
    const session = await floodByPolling(polled.port, CONNECT_PACKET, 33_000)
    const poll = await fetch(session)
    expect([poll.status, await poll.text()]).toEqual([400, expect.stringContaining('Session ID unknown')])
  })
})

test('a socket that floods the server with packets other than events is cut off too', async () => {
  const { apiKey } = await new World(app).user('ada')
  const { events, socket } = await sockets.connect(apiKey)
  // A CONNECT to a namespace that there is not is answered each time.
  for (let sent = 0; sent < 400; sent += 1) socket.io.engine.write('0/other,')
  await waitFor(() => socket.disconnected)
  expect(events.at(-1)).toEqual({ name: 'closing', data: { code: 'too_many_messages' } })
})

describe('requests that are refused at the door', () => {
  test('polling is 426, which says what to do, unless it is allowed', async () => {
    const route = 'GET /socket.io/?EIO=4&transport=polling'
    const refused = await app.send(route)
    expect([refused.status, refused.body.code]).toEqual([426, 'websocket_required'])
    expect(refused.body.message).toContain('transports: ["websocket"]')
    expect(refused.headers.get('upgrade')).toBe('websocket')
    expect((await polled.send(route)).status).toBe(200)
  })

  test('a refused upgrade ends the connection, with all that came behind it', async () => {
    const upgrade = `GET /socket.io/?EIO=3&transport=websocket HTTP/1.1\r\nHost: crier\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n`
    expect(await exchangeBytes(app.port, upgrade)).toMatch(
      / 400 Bad Request[^]*"message":"Unsupported protocol version"/,
    )
    expect(await exchangeBytes(app.port, upgrade.repeat(5))).toBe('')
  })
})
