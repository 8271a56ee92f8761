import { io } from 'socket.io-client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { CrierError } from '../../src/client.ts'
import { EMPTY, fromSnapshot, stateHash } from '../../src/chat/state.ts'
import { SocketClient, type SocketClientOptions } from '../../src/socket-client.ts'
import { startApp, type App } from '../support/app.ts'
import { cutProxy, type CutProxy } from '../support/cut-proxy.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let proxy: CutProxy
let place: { workspaceId: string; channelId: string }
const open: SocketClient[] = []

beforeAll(async () => {
  app = await startApp()
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
  const { chatLog } = app.composition.services
  return stateHash(fromSnapshot(await chatLog.snapshot(world.id('acme'), world.id('ada'), channelId)))
}

const url = () => proxy.url.replace(/\/$/, '')

test('a client that is cut off again and again loses, doubles and reorders nothing', async () => {
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
  await waitFor(async () => stateHash(hers.view.state) === (await truth(place.channelId)), { timeoutMs: 15_000 })
  await waitFor(async () => stateHash(his.view.state) === (await truth(place.channelId)))
  const bodies = hers.view.state.messages.map(({ body }) => body).filter((body) => body.startsWith('from ada'))
  expect(bodies).toEqual(sent)
  expect(hers.view.pending).toEqual([])
  expect(seen).toEqual(Array.from({ length: hers.view.state.seq }, (_, index) => index + 1))
})

test('a message whose answer was lost is not sent twice', async () => {
  const channelId = await channelWith(['bob'])
  const ada = connect('ada', url())
  const channel = ada.channel({ ...place, channelId })
  await waitFor(() => channel.view.isLive)
  proxy.cutAt('the answer is lost', 'after')
  const message = await channel.send({ body: 'the answer is lost' })
  expect(message.body).toBe('the answer is lost')
  await waitFor(async () => stateHash(channel.view.state) === (await truth(channelId)))
  expect(channel.view.state.messages.map(({ body }) => body)).toEqual(['the answer is lost'])
})

test('a client that is ahead of the server takes one snapshot and stays', async () => {
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

test('what the server refuses is told, and the next message goes on', async () => {
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

test('events of the workspace come once each, in order, across a cut', async () => {
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

test('a token is renewed before it ends, and after it has ended', async () => {
  const { email, password } = await world.user('ada')
  const login = async () =>
    (await app.send('POST /api/auth/login', { body: { email, password } })).body.data.accessToken as string
  let given = 0
  const ada = connect('ada', app.url, {
    token: async () => {
      given += 1
      return given === 1 ? 'eyJ.not.one' : await login()
    },
  })
  await ada.whenConnected()
  expect(given).toBe(2)
})
