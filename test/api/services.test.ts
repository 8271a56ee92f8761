import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { pruneChatLog as prune } from '../../src/domains/talk/chat/jobs.ts'
import { listChannels } from '../../src/domains/talk/chat/operations.ts'
import * as services from '../../src/domains/system/switches/operations.ts'
import { getQueueJobs, getQueueStats } from '../../src/jobs/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { ApiCaller, World } from '../support/world.ts'

/** Services that are switched off, on two nodes that share a database and Redis. */

let redis: TestRedis
let here: App
let there: App
let world: World
const sockets = new Sockets(() => here)

beforeAll(async () => {
  redis = await startRedis()
  here = await startApp({ redisUrl: redis.url, jobTimes: QUICK })
  there = await startApp({ redisUrl: redis.url, databaseUrl: here.databaseUrl })
  world = new World(here)
  await world.user('ada')
  await world.workspace('acme', 'ada')
  await world.user('root', { admin: true })
})
afterEach(async () => {
  sockets.end()
  for (const { key } of here.composition.services.switches.off()) await toggle(key, true)
})
afterAll(async () => {
  await there?.stop()
  await here?.stop()
  await redis?.stop()
})

async function toggle(serviceKey: string, enabled: boolean): Promise<void> {
  const reply = await world.as('root').call(services.toggleService, { path: { serviceKey }, body: { enabled } })
  expect(reply.status, reply.text).toBe(200)
}

const callers = () => [here, there].map((app) => new ApiCaller(app, { apiKey: world.key('ada') }))
const channels = () => ({ path: { workspaceId: world.id('acme') } })
const ask = ({ socket }: Listening, name: string, message: object) => socket.emitWithAck(name, message)
const switched = ({ events }: Listening) =>
  events.flatMap(({ data, name }) => (name === 'service.updated' ? [[data.key, data.enabled]] : []))

test('both nodes refuse a service over REST and sockets, and their sockets are told', async () => {
  const connected = [await sockets.connect(world.key('ada')), await sockets.connect(world.key('ada'), {}, there.url)]
  await toggle('chat', false)
  await waitFor(() => connected.every((socket) => switched(socket).length === 1))
  for (const caller of callers()) {
    const reply = await caller.call(listChannels, channels())
    expect(reply).toMatchObject({ status: 503, body: { code: 'service_disabled' } })
    expect(reply.headers.get('retry-after')).toBe('30')
  }
  for (const socket of connected) {
    const place = { workspaceId: world.id('acme'), channelId: world.id('ada') }
    expect(await ask(socket, 'call', { operation: 'listChannels', ...channels() })).toMatchObject({ status: 503 })
    for (const [name, message] of [
      ['sync', { ...place, after: 0 }],
      ['typing', place],
    ] as const) {
      const reply = await ask(socket, name, message)
      expect(reply, name).toMatchObject({ status: 503, body: { code: 'service_disabled' } })
    }
  }
  const later = await sockets.connect(world.key('ada'), {}, there.url)
  await waitFor(() => switched(later).length === 1)
  expect(switched(later)).toEqual([['chat', false]])
  await toggle('chat', true)
  await waitFor(() => [...connected, later].every((socket) => switched(socket).at(-1)?.[1] === true))
  for (const caller of callers()) expect((await caller.call(listChannels, channels())).status).toBe(200)
})

test('a node that starts while a service is off refuses it', async () => {
  await toggle('ideas', false)
  const late = await startApp({ redisUrl: redis.url, databaseUrl: here.databaseUrl })
  try {
    const reply = await new ApiCaller(late, {}).call(services.getServiceStatus, { path: { serviceKey: 'ideas' } })
    expect(reply.body.data).toMatchObject({ enabled: false, status: 'disabled' })
    const query = { workspaceId: world.id('acme') }
    const refused = await late.send('GET /api/ideas/boards', { apiKey: world.key('ada'), query })
    expect(refused).toMatchObject({ status: 503, body: { code: 'service_disabled' } })
  } finally {
    await late.stop()
  }
})

test('jobs of a service that is off wait, say why, and go on', async () => {
  const jobs = async () => (await world.as('root').call(getQueueJobs, { query: { name: prune.name } })).body.data
  await toggle('chat', false)
  await here.composition.jobs.add(here.database, prune, {})
  await waitFor(async () => (await jobs())[0]?.state === 'held')
  expect(await jobs()).toMatchObject([{ state: 'held', service: 'chat', attempts: 0 }])
  const stats = (await world.as('root').call(getQueueStats)).body.data
  expect(stats.find(({ queue }: { queue: string }) => queue === prune.queue)).toMatchObject({ held: 1 })
  await toggle('chat', true)
  await waitFor(async () => (await jobs())[0]?.state === 'done')
  expect(await jobs()).toMatchObject([{ attempts: 1 }])
})

test('a service that others need to be switched on again stays on', async () => {
  for (const serviceKey of ['auth', 'services', 'health']) {
    const reply = await world
      .as('root')
      .call(services.toggleService, { path: { serviceKey }, body: { enabled: false } })
    expect(reply, serviceKey).toMatchObject({ status: 409, body: { code: 'conflict' } })
  }
})
