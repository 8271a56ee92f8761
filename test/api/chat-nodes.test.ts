import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import * as chat from '../../src/chat/operations.ts'
import type { ChangeData } from '../../src/chat/schemas.ts'
import { applyChange, EMPTY } from '../../src/chat/state.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Two nodes on one database and one Redis: one channel, one order, one message for a clientId, one pace. */

let redis: TestRedis
let here: App
let there: App
let world: World
const sockets = new Sockets(() => here)

beforeAll(async () => {
  redis = await startRedis()
  here = await startApp({ redisUrl: redis.url })
  there = await startApp({ redisUrl: redis.url, databaseUrl: here.databaseUrl })
  world = new World(here)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob')
})
afterEach(() => sockets.end())
afterAll(async () => {
  await there?.stop()
  await here?.stop()
  await redis?.stop()
})

test('messages of both nodes come in one order, the same on both (Rocket.Chat #28573)', async () => {
  const channel = await TestChannel.make(world, 'acme', 'ada')
  const [a, b] = [await sockets.connect(world.key('ada')), await sockets.connect(world.key('bob'), {}, there.url)]
  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      channel.said(index % 2 === 0 ? 'ada' : 'bob', `message ${index}`, {}, index % 4 < 2 ? here : there),
    ),
  )
  const changes = (events: typeof a.events) =>
    events.flatMap(({ data, name }) => (name === 'chat.change' ? [data as ChangeData] : []))
  await waitFor(() => [a, b].every(({ events }) => changes(events).length === 40), {
    what: 'every message on both nodes',
    timeoutMs: 30_000,
  })
  const expected = Array.from({ length: 40 }, (_, index) => index + 2)
  expect(changes(a.events).map(({ seq }) => seq)).toEqual(expected)
  expect(changes(b.events)).toEqual(changes(a.events))
  expect(sent.map(({ seq }) => seq as number).toSorted((x, y) => x - y)).toEqual(expected)
  const { body } = await channel.voice('bob', there).call(chat.syncChannel, { path: channel.path, query: { after: 0 } })
  const [first] = body.data.changes as ChangeData[]
  const live = [first as ChangeData, ...changes(a.events)].reduce(applyChange, EMPTY)
  expect((body.data.changes as ChangeData[]).reduce(applyChange, EMPTY)).toEqual(live)
})

test('a message that is sent again on another node is the first one', async () => {
  const channel = await TestChannel.make(world, 'acme', 'ada')
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      channel.say('bob', 'once', { clientId: 'mine' }, index % 2 === 0 ? here : there),
    ),
  )
  expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1)
  expect(new Set(answers.map(({ body }) => body.data.seq))).toEqual(new Set([2]))
})
