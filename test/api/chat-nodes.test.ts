import { io } from 'socket.io-client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import * as chat from '../../src/domains/talk/chat/operations.ts'
import type { ChangeData } from '../../src/domains/talk/chat/schemas.ts'
import { applyChange, EMPTY } from '../../src/domains/talk/chat/state.ts'
import { MINUTE, type Clock } from '../../src/core/clock.ts'
import { SocketClient } from '../../src/sdk/socket-client.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { ApiCaller, World } from '../support/world.ts'

/** Chat on two nodes that share a database and Redis. */

/** The clock of the first node is three minutes slow. */
const late: Clock = { now: () => Date.now() - 3 * MINUTE, monotonic: () => performance.now() }
let redis: TestRedis
let here: App
let there: App
let world: World
let isAlone = false
const sockets = new Sockets(() => here)
const clients: SocketClient[] = []

beforeAll(async () => {
  redis = await startRedis()
  here = await startApp({ redisUrl: redis.url, clock: late })
  there = await startApp({ redisUrl: redis.url, databaseUrl: here.databaseUrl })
  world = new World(here)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob')
})
afterEach(() => {
  sockets.end()
  for (const client of clients.splice(0)) client.close()
})
afterAll(async () => {
  if (!isAlone) await there?.stop()
  await here?.stop()
  await redis?.stop()
})

test('delivers messages in the same order on both nodes (Rocket.Chat #28573)', async () => {
  const channel = await TestChannel.make(world, 'acme', 'ada')
  const [a, b] = [await sockets.connect(world.key('ada')), await sockets.connect(world.key('bob'), {}, there.url)]
  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      channel.send(index % 2 === 0 ? 'ada' : 'bob', `message ${index}`, {}, index % 4 < 2 ? here : there),
    ),
  )
  const changes = (events: typeof a.events) =>
    events.flatMap(({ data, name }) => (name === 'chat.change' ? [data as ChangeData] : []))
  await waitFor(() => [a, b].every(({ events }) => changes(events).length === 40), {
    what: 'every message on both nodes',
  })
  const expected = Array.from({ length: 40 }, (_, index) => index + 2)
  expect(changes(a.events).map(({ seq }) => seq)).toEqual(expected)
  expect(changes(b.events)).toEqual(changes(a.events))
  expect(sent.map(({ seq }) => seq as number).toSorted((x, y) => x - y)).toEqual(expected)
  const { body } = await channel.as('bob', there).call(chat.syncChannel, { path: channel.path, query: { after: 0 } })
  const [first] = body.data.changes as ChangeData[]
  const live = [first as ChangeData, ...changes(a.events)].reduce(applyChange, EMPTY)
  expect((body.data.changes as ChangeData[]).reduce(applyChange, EMPTY)).toEqual(live)
})

test('creates one message for a clientId that is sent to both nodes', async () => {
  const channel = await TestChannel.make(world, 'acme', 'ada')
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      channel.trySend('bob', 'once', { clientId: 'mine' }, index % 2 === 0 ? here : there),
    ),
  )
  expect(replies.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1)
  expect(new Set(replies.map(({ body }) => body.data.seq))).toEqual(new Set([2]))
})

test('applies removal from a private channel and return to it on the other node', async () => {
  await world.member('acme', 'cyd')
  const channel = await TestChannel.make(world, 'acme', 'ada', { private: true, memberIds: [world.id('cyd')] })
  const [ada, cyd] = [
    await sockets.connect(world.key('ada'), {}, there.url),
    await sockets.connect(world.key('cyd'), {}, there.url),
  ]
  const bodies = ({ events }: typeof ada) =>
    events.flatMap(({ data, name }) =>
      name === 'chat.change' && data.type === 'message' ? [data.data.message.body] : [],
    )
  const sentBodies = ['in', 'out', 'in again']
  await channel.send('ada', 'in')
  const path = { ...channel.path, userId: world.id('cyd') }
  expect((await world.as('ada').call(chat.removeChannelMember, { path })).status).toBe(200)
  await channel.send('ada', 'out')
  const body = { userIds: [world.id('cyd')] }
  const added = await channel.as('ada', there).call(chat.addChannelMembers, { path: channel.path, body })
  expect(added.status).toBe(200)
  await channel.send('ada', 'in again')
  await waitFor(() => bodies(ada).length === 3 && bodies(cyd).length === 2)
  expect([bodies(ada), bodies(cyd)]).toEqual([sentBodies, ['in', 'in again']])
})

test('shows a new message last even when clocks differ (Rocket.Chat #13926)', async () => {
  const callers = {
    ada: new ApiCaller(here, { apiKey: world.key('ada') }),
    bob: new ApiCaller(there, { apiKey: world.key('bob') }),
  }
  // Find a workspace whose actor runs on the other node, which has the right time.
  let path = { workspaceId: '', channelId: '' }
  const isLate = (time: string) => Date.parse(time) < Date.now() - 2 * MINUTE
  for (let tries = 0; path.channelId === ''; tries += 1) {
    const workspaceId = await world.workspace(`globex ${tries}`, 'ada')
    await world.member(`globex ${tries}`, 'bob')
    const body = { kind: 'dm', userIds: [world.id('ada')] }
    const { data } = (await callers.bob.call(chat.createChannel, { path: { workspaceId }, body })).body
    if (!isLate(data.createdAt)) path = { workspaceId, channelId: data._id }
  }
  const sentBodies: string[] = []
  const misplaced: string[] = []
  const follow = (name: 'ada' | 'bob', app: App) => {
    // At any time a user sees what they have sent, either in the channel or as pending.
    const client = new SocketClient({ url: app.url, io, token: world.key(name), retryDelayMs: 20 })
    clients.push(client)
    const channel = client.channel(path)
    const own = () => sentBodies.filter((text) => text.startsWith(name))
    channel.subscribe(({ isLive, pending, state }) => {
      if (!isLive) return
      const shown = [...state.messages, ...pending].map((one) => one.body ?? '')
      const mine = shown.filter((text) => text.startsWith(name))
      if (mine.join() !== own().join()) misplaced.push(`${mine.join()} and not ${own().join()}`)
    })
    return channel
  }
  const [hers, his] = [follow('ada', here), follow('bob', there)]
  await waitFor(() => hers.view.isLive && his.view.isLive)
  const talk = async (name: 'ada' | 'bob', channel: typeof hers) => {
    sentBodies.push(`${name} ${sentBodies.length}`)
    await channel.send({ body: sentBodies.at(-1) ?? '' })
    for (const caller of isAlone ? [callers.ada] : [callers.ada, callers.bob]) {
      const list = await caller.call(chat.listMessages, { path, query: { limit: 3 } })
      const bodies = (list.body.data as { body: string }[]).map((message) => message.body)
      expect(bodies).toEqual(sentBodies.slice(-3))
      const { data } = (await caller.call(chat.getChannel, { path })).body
      expect(data.lastMessage.body).toBe(sentBodies.at(-1))
    }
  }
  for (let round = 0; round < 3; round += 1) {
    await talk('bob', his)
    await talk('ada', hers)
  }
  await waitFor(() => [hers, his].every(({ view }) => view.state.messages.length === sentBodies.length))

  // The node with the right time stops; the one with the slow clock takes over.
  isAlone = true
  await there.stop()
  await talk('ada', hers)
  const moved = follow('bob', here)
  await waitFor(() => moved.view.isLive)
  await talk('bob', moved)
  await waitFor(() => [hers, moved].every(({ view }) => view.state.messages.length === sentBodies.length))
  for (const { view } of [hers, moved]) expect(view.state.messages.map((message) => message.body)).toEqual(sentBodies)
  const times = hers.view.state.messages.map(({ createdAt }) => createdAt)
  expect(times.map(isLate)).toEqual([...Array<boolean>(6).fill(false), true, true])
  expect(misplaced).toEqual([])
})
