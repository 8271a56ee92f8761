import { connect as connectTcp, type Socket as TcpSocket } from 'node:net'
import { io, type Socket } from 'socket.io-client'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { CredentialAuthenticator } from '../../src/domains/identity/auth/authenticator.ts'
import { startApp, type App } from '../support/app.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
const open: Socket[] = []

beforeAll(async () => {
  app = await startApp({ env: { SOCKET_POLLING: '1' } })
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob', { scopes: ['streams:read'] })
  await world.member('acme', 'cleo', { scopes: ['posts:read'] })
  await world.workspace('other', 'olga')
})
afterEach(() => {
  for (const socket of open.splice(0)) socket.disconnect()
})
afterAll(() => app?.stop())

interface Listening {
  readonly socket: Socket
  readonly events: { name: string; data: Record<string, unknown> }[]
}

function listen(auth: object, options: object = {}): Listening {
  const socket = io(app.url, { auth, forceNew: true, reconnection: false, transports: ['websocket'], ...options })
  open.push(socket)
  const events: Listening['events'] = []
  socket.onAny((name: string, data: Record<string, unknown>) => {
    if (name !== 'presence.updated') events.push({ name, data })
  })
  return { socket, events }
}

async function connect(token: string, options: object = {}): Promise<Listening> {
  const listening = listen({ token }, options)
  await waitFor(() => listening.socket.connected, { what: 'a socket' })
  return listening
}

async function refused(auth: object, options: object = {}): Promise<string> {
  const { socket } = listen(auth, options)
  const error = await new Promise<Error & { data?: { code: string } }>((resolve) =>
    socket.once('connect_error', resolve),
  )
  return error.data?.code ?? error.message
}

async function keyOf(name: string): Promise<string> {
  return (await world.user(name)).apiKey
}

async function tokenOf(name: string): Promise<string> {
  const { email, password } = await world.user(name)
  const reply = await app.send('POST /api/auth/login', { body: { email, password } })
  return reply.body.data.accessToken
}

async function createStream(owner: string, workspace: string, title: string): Promise<string> {
  const made = await world.as(owner).call('POST /api/streams', { body: { workspaceId: world.id(workspace), title } })
  expect(made.status).toBe(201)
  return made.body.data._id
}

const titles = (listening: Listening) => listening.events.map(({ data }) => (data['data'] as { title?: string })?.title)

test('events reach only members with the scope, and are numbered', async () => {
  const ada = await connect(await tokenOf('ada'))
  const bob = await connect(await keyOf('bob'))
  const cleo = await connect(await keyOf('cleo'))
  const olga = await connect(await keyOf('olga'))
  const streamId = await createStream('ada', 'acme', 'first')
  await createStream('olga', 'other', 'marker of the other')
  await waitFor(() => ada.events.length === 1 && bob.events.length === 1 && olga.events.length === 1)
  expect(bob.events[0]).toEqual({
    name: 'stream.created',
    data: {
      type: 'stream.created',
      seq: expect.any(Number),
      workspaceId: world.id('acme'),
      at: expect.stringMatching(/Z$/),
      data: { streamId, title: 'first', status: 'idle', endReason: null, version: 1 },
    },
  })
  expect(ada.events).toEqual(bob.events)
  expect(titles(olga)).toEqual(['marker of the other'])
  expect(cleo.events).toEqual([])
})

test('events keep their order, and the last event of a burst arrives', async () => {
  const bob = await connect(await keyOf('bob'))
  const count = 100
  for (let sent = 0; sent < count; sent += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, index) => createStream('ada', 'acme', `burst ${sent + index}`)))
  }
  await waitFor(() => bob.events.length === count, { what: `${count} events` })
  const numbers = bob.events.map(({ data }) => data['seq'] as number)
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
  expect(new Set(numbers).size).toBe(count)
})

test('a polling client receives the same events, before and after an upgrade', async () => {
  const polling = await connect(await keyOf('bob'), { transports: ['polling'] })
  const upgrading = await connect(await keyOf('bob'), { transports: ['polling', 'websocket'] })
  await waitFor(() => upgrading.socket.io.engine.transport.name === 'websocket')
  await createStream('ada', 'acme', 'for pollers')
  await waitFor(() => polling.events.length === 1 && upgrading.events.length === 1)
  expect(polling.events).toEqual(upgrading.events)
})

test('only a valid credential in `auth` is accepted', async () => {
  expect(await refused({})).toBe('unauthorized')
  expect(await refused({ token: 'nonsense' })).toBe('invalid_credential')
  expect(await refused({ token: 42 })).toBe('unauthorized')
  expect(await refused({ token: 'x'.repeat(5_000) })).toBe('unauthorized')
  expect(await refused({ token: `crier_${'a'.repeat(43)}` })).toBe('invalid_credential')
  const key = await keyOf('bob')
  expect(await refused({}, { query: { token: key } })).toBe('unauthorized')
})

test('pages of other origins cannot connect', async () => {
  const token = await keyOf('bob')
  const extraHeaders = { Origin: 'https://evil.example' }
  expect(await refused({ token }, { extraHeaders })).toBe('origin_not_allowed')
  expect(await refused({ token }, { extraHeaders, transports: ['polling'] })).toBe('origin_not_allowed')
  await connect(token, { extraHeaders: { Origin: app.url } })
})

test('a new member receives events, and a removed member receives no more', async () => {
  const dora = await connect((await world.user('dora')).apiKey)
  await createStream('ada', 'acme', 'before')
  await world.member('acme', 'dora', { role: 'editor' })
  await waitFor(async () => {
    await createStream('ada', 'acme', 'while a member')
    return dora.events.length > 0
  })
  await app.database.run('delete from workspace_members where workspace_id = $1 and user_id = $2', [
    world.id('acme'),
    world.id('dora'),
  ])
  app.composition.services.workspaces.memberships.changed(world.id('acme'))
  const bob = await connect(await keyOf('bob'))
  await createStream('ada', 'acme', 'after')
  await waitFor(() => titles(bob).includes('after'))
  expect(new Set(titles(dora))).toEqual(new Set(['while a member']))
})

test('a removed scope takes effect on open sockets', async () => {
  const erik = await world.member('acme', 'erik', { role: 'editor' })
  const socket = await connect(erik.apiKey)
  await createStream('ada', 'acme', 'with the scope')
  await waitFor(() => socket.events.length === 1)
  await world.member('acme', 'erik', { scopes: ['posts:read'] })
  const bob = await connect(await keyOf('bob'))
  await createStream('ada', 'acme', 'without the scope')
  await waitFor(() => bob.events.length === 1)
  expect(titles(socket)).toEqual(['with the scope'])
})

test('revoking a session or key disconnects its sockets at once', async () => {
  // Without the poll, which would also find the change within a second.
  const poll = vi.spyOn(app.composition.authenticator as CredentialAuthenticator, 'poll').mockResolvedValue()
  onTestFinished(() => poll.mockRestore())
  const token = await tokenOf('ada')
  const bySession = await connect(token)
  await app.send('POST /api/auth/logout', { token, body: {} })
  await waitFor(() => bySession.socket.disconnected, { what: 'the end of a revoked session’s socket' })
  const fred = await world.user('fred')
  const byKey = await connect(fred.apiKey)
  const renewed = await app.send('POST /api/users/me/api-key', { apiKey: fred.apiKey })
  expect(renewed.status).toBeLessThan(300)
  await waitFor(() => byKey.socket.disconnected, { what: 'the end of a revoked key’s socket' })
  expect(byKey.events.at(-1)).toEqual({ name: 'closing', data: { code: 'invalid_credential' } })
  expect([await refused({ token }), await refused({ token: fred.apiKey })]).toEqual([
    'invalid_credential',
    'invalid_credential',
  ])
})

test('a client renews its token, but not with another user’s', async () => {
  const first = await tokenOf('ada')
  const { socket } = await connect(first)
  expect(await socket.emitWithAck('auth', { token: await keyOf('bob') })).toMatchObject({
    status: false,
    code: 'invalid_credential',
  })
  expect(await socket.emitWithAck('auth', { token: 'nonsense' })).toMatchObject({ status: false })
  expect(await socket.emitWithAck('auth', { token: await tokenOf('ada') })).toMatchObject({ status: true })
  await app.send('POST /api/auth/logout', { token: first, body: {} })
  await createStream('ada', 'acme', 'after the first session ended')
  expect(socket.connected).toBe(true)
})

test('an expired token disconnects its socket, and a renewed one keeps it connected', async () => {
  const clock = new ManualClock(Date.now())
  const later = await startApp({ clock })
  try {
    const someone = await new World(later).user('hana')
    const login = { email: someone.email, password: someone.password }
    const token = async () =>
      (await later.send('POST /api/auth/login', { body: login })).body.data.accessToken as string
    const options = { forceNew: true, reconnection: false, transports: ['websocket'] }
    const expiring = io(later.url, { ...options, auth: { token: await token() } })
    const renewing = io(later.url, { ...options, auth: { token: await token() } })
    open.push(expiring, renewing)
    await waitFor(() => expiring.connected && renewing.connected)
    const closing = new Promise((resolve) => expiring.once('closing', resolve))
    clock.advance(14 * MINUTE)
    expect(await renewing.emitWithAck('auth', { token: await token() })).toMatchObject({ status: true })
    clock.advance(2 * MINUTE)
    expect(await closing).toEqual({ code: 'credential_expired' })
    await waitFor(() => expiring.disconnected)
    expect(renewing.connected).toBe(true)
    const refusal = new Promise<{ data?: { code: string } }>((resolve) => expiring.once('connect_error', resolve))
    expiring.connect()
    expect((await refusal).data?.code).toBe('credential_expired')
  } finally {
    await later.stop()
  }
})

test('a client that floods, or sends too large messages, is disconnected', async () => {
  const flooding = await connect(await keyOf('bob'))
  for (let index = 0; index < 400; index += 1) flooding.socket.emit('noise', index)
  await waitFor(() => flooding.socket.disconnected)
  expect(flooding.events.at(-1)).toEqual({ name: 'closing', data: { code: 'too_many_messages' } })
  const huge = await connect(await keyOf('bob'))
  huge.socket.emit('noise', 'x'.repeat(200_000))
  await waitFor(() => huge.socket.disconnected)
})

test('a user can have 50 sockets', async () => {
  const greta = await world.user('greta')
  await Promise.all(Array.from({ length: 50 }, () => connect(greta.apiKey)))
  expect(await refused({ token: greta.apiKey })).toBe('too_many_sockets')
  open.pop()
  open.pop()?.disconnect()
  await waitFor(async () => {
    const { socket } = listen({ token: greta.apiKey })
    return new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('connect_error', () => resolve(false))
    })
  })
})

test('a client that does not read is disconnected, and others lose no events', async () => {
  const bob = await connect(await keyOf('bob'))
  const users = await socketUsers()
  const stalled = await connectRaw((await world.user('greta-the-slow')).apiKey)
  await world.member('acme', 'greta-the-slow', { role: 'editor' })
  await waitFor(async () => (await socketUsers()) === users + 1)
  stalled.pause()
  const workspaceId = world.id('acme')
  const padding = 'x'.repeat(200_000)
  const count = 200
  const received = () => bob.events.filter(({ name }) => name === 'stream.deleted').length
  for (let seq = 1; seq <= count; seq += 1) {
    app.node.resources.coordination.publish(`ev:${workspaceId}`, [
      { workspaceId, seq, type: 'stream.deleted', data: { padding }, at: new Date().toISOString() },
    ])
    // Not faster than the reading client, which would otherwise be disconnected for being 16 MB behind.
    await waitFor(() => received() > seq - 20, { what: 'the client that reads' })
  }
  await waitFor(() => received() === count, { what: 'every event at the client that reads' })
  await waitFor(async () => (await socketUsers()) === users, {
    what: 'the end of the client that does not read',
  })
  stalled.destroy()
})

async function socketUsers(): Promise<number> {
  const text = await app.node.resources.metrics.getSingleMetricAsString('crier_socket_users')
  return Number(/^crier_socket_users (\d+)$/m.exec(text)?.[1])
}

/** A raw WebSocket client that can stop reading. */
async function connectRaw(token: string): Promise<TcpSocket> {
  const socket = connectTcp(app.port, '127.0.0.1')
  let received = ''
  socket.on('data', (bytes) => (received += bytes.toString('latin1')))
  const frame = (text: string) => {
    // A zero mask leaves the payload unchanged (RFC 6455, section 5.3).
    const size = Buffer.byteLength(text)
    return Buffer.concat([Buffer.from([0x81, 0x80 | size, 0, 0, 0, 0]), Buffer.from(text)])
  }
  socket.write(
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  )
  await waitFor(() => received.includes('"sid"'), { what: 'the handshake' })
  socket.write(frame(`40${JSON.stringify({ token })}`))
  await waitFor(() => /40\{"sid"/.test(received), { what: 'the connection' })
  return socket
}

test('a connection that does not authenticate is closed', async () => {
  const raw = new WebSocket(`${app.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`)
  const closed = new Promise((resolve) => raw.addEventListener('close', resolve))
  await new Promise((resolve) => raw.addEventListener('open', resolve))
  await closed
})
