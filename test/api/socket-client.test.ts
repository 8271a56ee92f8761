import { io } from 'socket.io-client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { CrierError } from '../../src/sdk/client.ts'
import { EMPTY, fromSnapshot, stateHash } from '../../src/domains/talk/chat/state.ts'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import { SocketClient, type SocketClientOptions } from '../../src/sdk/socket-client.ts'
import { startApp, type App } from '../support/app.ts'
import { cutProxy, type CutProxy } from '../support/cut-proxy.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let proxy: CutProxy
let place: { workspaceId: string; channelId: string }
const open: SocketClient[] = []
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  app = await startApp({ clock, env: { SOCKET_POLLING: '1' } })
  proxy = await cutProxy(app.url)
  world = new World(app)
  const workspaceId = await world.workspace('acme', 'ada')
  for (const name of ['bob', 'cleo']) await world.member('acme', name, { role: 'editor' })
  place = { workspaceId, channelId: await channelWith(['bob']) }
})
afterEach(() => {
  for (const client of open.splice(0)) client.close()
  proxy.away(false)
})
afterAll(async () => {
  await proxy?.close()
  await app?.stop()
})

async function channelWith(names: readonly string[]): Promise<string> {
  const body = { kind: 'channel', name: `c${Math.random()}`, private: true, memberIds: names.map((n) => world.id(n)) }
  const made = await world
    .as('ada')
    .call('POST /api/team/{workspaceId}/channels', { path: { workspaceId: world.id('acme') }, body })
  expect(made.status, made.text).toBe(201)
  return made.body.data._id
}

function connect(name: string, url = app.url, options: Partial<SocketClientOptions> = {}): SocketClient {
  const client = new SocketClient({ url, io, token: world.key(name), retryDelayMs: 20, timeoutMs: 5_000, ...options })
  open.push(client)
  return client
}

async function truth(channelId: string): Promise<string> {
  const { log: chatLog } = app.composition.services.chat
  return stateHash(fromSnapshot(await chatLog.snapshot(world.id('acme'), world.id('ada'), channelId)))
}

const url = () => proxy.url.replace(/\/$/, '')

test('loses, duplicates and reorders no messages over repeated disconnections', async () => {
  const ada = connect('ada', url())
  const bob = connect('bob')
  const [hers, his] = [ada.channel(place), bob.channel(place)]
  const seen: number[] = []
  hers.subscribe((_view, changes) => seen.push(...changes.map(({ seq }) => seq)))
  await waitFor(() => hers.view.isLive && his.view.isLive)
  const sent = Array.from({ length: 25 }, (_, index) => `from ada ${index}`)
  const sending = sent.map((body) => hers.send({ body }))
  const mine: string[] = []
  for (let round = 0; round < 12; round += 1) {
    if (round % 3 === 1) proxy.away(true)
    const { _id } = await his.send({ body: `from bob ${round}` })
    mine.push(_id)
    const path = { ...place, messageId: _id }
    if (round % 3 === 1) await bob.call('editMessage', { path, body: { body: `edited in ${round}` } })
    if (round % 4 === 2) await bob.call('deleteMessage', { path })
    if (round % 3 === 2) proxy.away(false)
  }
  proxy.away(false)
  await Promise.all(sending)
  await waitFor(async () => stateHash(hers.view.state) === (await truth(place.channelId)))
  await waitFor(async () => stateHash(his.view.state) === (await truth(place.channelId)))
  const bodies = hers.view.state.messages.map(({ body }) => body).filter((body) => body.startsWith('from ada'))
  expect(bodies).toEqual(sent)
  expect(hers.view.pending).toEqual([])
  expect(seen).toEqual(Array.from({ length: hers.view.state.seq }, (_, index) => index + 1))
})

test('resends a message whose reply was lost, and creates it once', async () => {
  const channelId = await channelWith(['bob'])
  // With polling the proxy can read the message; WebSocket frames of clients are masked.
  const ada = connect('ada', url(), { socketOptions: { transports: ['polling'] } })
  const channel = ada.channel({ ...place, channelId })
  await waitFor(() => channel.view.isLive)
  const sends = () => app.logs.filter(({ op }) => op === 'sendMessage').map(({ status }) => status)
  const before = sends().length
  proxy.cutAt('the answer is lost', 'after')
  const message = await channel.send({ body: 'the answer is lost' })
  expect(message).toMatchObject({ body: 'the answer is lost', clientId: expect.any(String) })
  await waitFor(() => sends().length === before + 2, { what: 'the message to be sent again' })
  expect(sends().slice(before)).toEqual([201, 200])
  await waitFor(async () => stateHash(channel.view.state) === (await truth(channelId)))
  expect(channel.view.state.messages.map(({ body }) => body)).toEqual(['the answer is lost'])
})

test('takes one snapshot when it is ahead of the server, and stays connected', async () => {
  const channelId = await channelWith([])
  const ada = connect('ada')
  const ahead = ada.channel({ ...place, channelId }, { ...EMPTY, seq: 5_000 })
  let connections = 0
  ada.onConnected(() => (connections += 1))
  await waitFor(() => ahead.view.isLive)
  expect(stateHash(ahead.view.state)).toBe(await truth(channelId))
  await ahead.send({ body: 'on we go' })
  await waitFor(async () => stateHash(ahead.view.state) === (await truth(channelId)))
  expect(connections).toBe(1)
})

test('reports a rejected message, and sends the next one', async () => {
  const cleo = connect('cleo')
  const channel = cleo.channel(place)
  await waitFor(() => channel.view.error?.status === 404)
  await expect(channel.send({ body: 'let me in' })).rejects.toThrow(CrierError)
  expect(channel.view.pending).toEqual([])
  const stranger = connect('cleo', app.url, { token: 'nonsense', onRefused: (code) => refusals.push(code) })
  const refusals: string[] = []
  await waitFor(() => refusals.includes('invalid_credential'))
  expect(stranger.isConnected).toBe(false)
  const { body, status } = await cleo.call('getChannel', { path: place }).catch((error: CrierError) => ({
    status: error.status,
    body: error.code,
  }))
  expect([status, body]).toEqual([404, 'not_found'])
})

test('delivers workspace events once each and in order across a disconnection', async () => {
  const bob = connect('bob', url())
  const titles: string[] = []
  await bob.whenConnected()
  const following = bob.events(place.workspaceId, {
    onEvent: ({ data, type }) => type === 'stream.created' && titles.push((data as { title: string }).title),
  })
  await waitFor(() => following.after() !== undefined)
  const make = (title: string) =>
    world.as('ada').call('POST /api/streams', { body: { workspaceId: place.workspaceId, title } })
  await make('one')
  await waitFor(() => titles.length === 1)
  proxy.away(true)
  await make('two')
  await make('three')
  proxy.away(false)
  await waitFor(() => titles.length === 3)
  await make('four')
  await waitFor(() => titles.length === 4)
  expect(titles).toEqual(['one', 'two', 'three', 'four'])
})

describe('a token', () => {
  const login = async (name: string) => {
    const { email, password } = await world.user(name)
    const { body } = await app.send('POST /api/auth/login', { body: { email, password } })
    return body.data.accessToken as string
  }

  /** A client, with a record of what happens to its connection. */
  function watched(name: string, options: Partial<SocketClientOptions>) {
    const record = { connections: 0, closings: [] as unknown[], refusals: [] as string[], renewals: [] as unknown[] }
    const factory = (url: string, socketOptions: never) => {
      const socket = io(url, socketOptions)
      const ask = socket.emitWithAck.bind(socket)
      socket.emitWithAck = async (message, ...more) => {
        const reply: unknown = await ask(message, ...more)
        if (message === 'auth') record.renewals.push(reply)
        return reply
      }
      return socket
    }
    const onRefused = (code: string) => void record.refusals.push(code)
    const client = connect(name, app.url, { io: factory, onRefused, ...options })
    client.onConnected(() => (record.connections += 1))
    client.onMessage((message, data) => message === 'closing' && record.closings.push(data))
    return { client, record }
  }

  test('is renewed before or after it expires; without a new one the socket stays closed', async () => {
    // Renews one second after it was issued.
    const renewing = watched('ada', { token: () => login('ada'), renewBeforeMs: 15 * MINUTE - 1_000 })
    const returning = watched('ada', { token: () => login('ada') })
    const ending = watched('ada', { token: await login('ada') })
    const all = [renewing, returning, ending]
    await waitFor(() => all.every(({ client }) => client.isConnected))
    clock.advance(10 * MINUTE)
    // A renewal in progress may carry an older token.
    const { length } = renewing.record.renewals
    await waitFor(() => renewing.record.renewals.length > length + 1, { what: 'a renewal' })
    expect(renewing.record.renewals.at(-1)).toMatchObject({ status: true })
    // The first tokens have expired.
    clock.advance(6 * MINUTE)
    const expired = { code: 'credential_expired' }
    await waitFor(() => ending.record.refusals.length > 0 && returning.record.connections === 2)
    expect(ending.record).toMatchObject({ closings: [expired], refusals: ['credential_expired'], connections: 1 })
    expect(returning.record).toMatchObject({ closings: [expired], refusals: [] })
    expect(renewing.record).toMatchObject({ closings: [], refusals: [], connections: 1 })
    expect(all.map(({ client }) => client.isConnected)).toEqual([true, true, false])
  })

  test('is requested again when it was rejected or could not be obtained', async () => {
    const given = ['eyJ.not.one', new Error('the network is down'), new Error('still down')]
    const { client, record } = watched('ada', {
      token: async () => {
        const next = given.shift() ?? (await login('ada'))
        if (next instanceof Error) throw next
        return next
      },
    })
    await client.whenConnected()
    expect([given, record.refusals]).toEqual([[], []])
    const refused = watched('ada', { token: async () => 'eyJ.not.one' })
    await waitFor(() => refused.record.refusals.length > 0)
    expect(refused.record).toMatchObject({ refusals: ['invalid_credential'], connections: 0 })
  })
})
