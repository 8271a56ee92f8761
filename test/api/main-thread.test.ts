import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { job } from '../../src/core/job.ts'
import { from, operation } from '../../src/core/operation.ts'
import { ok } from '../../src/core/reply.ts'
import { Envelope, Id, Input, Type } from '../../src/core/schema.ts'
import { HELD_MS } from '../../src/core/main-thread.ts'
import { api } from '../../src/registry/api.ts'
import { jobs as allJobs } from '../../src/registry/jobs.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Operations and jobs that keep the event loop are named in the log and the metrics, wherever they do it. */

const Place = Type.Union([Type.Literal('at once'), Type.Literal('after a statement')])

/** Keeps the main thread, as a handler that computes would. */
function hold(): void {
  const until = performance.now() + HELD_MS + 10
  while (performance.now() < until);
}

const returns = { 200: Envelope(Type.Object({ held: Type.Boolean() })) }

const holdRead = operation({
  route: 'GET /api/holding/read',
  summary: 'Hold the event loop',
  access: 'user',
  query: Input({ place: Place }),
  returns,
  socket: true,
  example: { query: { place: 'at once' } },
  handle: async ({ query: { place } }) => {
    if (place === 'after a statement') await app.database.row('select 1 as one')
    hold()
    return ok('Held', { held: true })
  },
})

const holdTurn = operation({
  route: 'POST /api/holding/turn',
  summary: 'Hold the event loop in a turn',
  access: 'streams:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: Input({ workspaceId: Id, place: Place }),
  returns,
  example: { body: { workspaceId: '01900000-0000-7000-8000-000000000001', place: 'at once' } },
  handle: async ({ body: { place }, turn }) => {
    if (place === 'after a statement') await turn.sql.row('select 1 as one')
    hold()
    return ok('Held', { held: true })
  },
})

const holdJob = job({
  name: 'tests.hold',
  summary: 'Hold the event loop',
  queue: 'default',
  data: Type.Object({}),
  run: async () => {
    await app.database.row('select 1 as one')
    hold()
  },
})

let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({
    registry: { ...api, holding: { holdRead, holdTurn } },
    jobs: [...allJobs, holdJob],
    jobTimes: QUICK,
  })
  world = new World(app)
  await world.workspace('acme', 'ada')
})
afterEach(() => sockets.end())
afterAll(() => app?.stop())

/** How often the metrics say that an operation or job has held the event loop. */
async function held(op: string): Promise<number> {
  const text = await (await fetch(`${app.node.adminUrl}/metrics`)).text()
  return Number(new RegExp(`crier_event_loop_held_total\\{op="${op}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
}

const lines = (op: string) => app.logs.filter(({ msg, op: named }) => msg === 'the event loop was held' && named === op)

test.each(['at once', 'after a statement'])('a request that holds the event loop %s is named', async (place) => {
  const before = await held('holdRead')
  expect((await world.as('ada').call(holdRead, { query: { place } })).status).toBe(200)
  await waitFor(async () => (await held('holdRead')) > before)
  expect(lines('holdRead').at(-1)).toMatchObject({ level: 40, ms: expect.any(Number) as number })
})

test.each(['at once', 'after a statement'])('a turn that holds it %s is named', async (place) => {
  const before = await held('holdTurn')
  const body = { workspaceId: world.id('acme'), place }
  expect((await world.as('ada').call(holdTurn, { body })).status).toBe(200)
  await waitFor(async () => (await held('holdTurn')) > before)
  expect(lines('holdTurn')).not.toHaveLength(0)
})

test('a call over a socket is named', async () => {
  const before = await held('holdRead')
  const { socket } = await sockets.connect(world.key('ada'))
  const query = { place: 'at once' }
  expect(await socket.emitWithAck('call', { operation: 'holdRead', query })).toMatchObject({ status: 200 })
  await waitFor(async () => (await held('holdRead')) > before)
})

test('a job is named', async () => {
  await app.database.transaction((tx) => app.composition.jobs.add(tx, holdJob, {}))
  await waitFor(async () => (await held('tests.hold')) > 0)
  expect(lines('tests.hold')).not.toHaveLength(0)
})

test('heavy calls of one account over REST and sockets wait for each other, and those of others do not', async () => {
  await world.user('bob')
  const { socket } = await sockets.connect(world.key('ada'))
  const replies: string[] = []
  const query = { place: 'at once' }
  const answered = (name: string) => () => void replies.push(name)
  const all = Array.from({ length: 4 }, () => [
    world.as('ada').call(holdRead, { query }).then(answered('ada')),
    socket.emitWithAck('call', { operation: 'holdRead', query }).then(answered('ada')),
  ]).flat()
  await waitFor(() => replies.length > 0)
  await world.as('bob').call('GET /api/workspaces').then(answered('bob'))
  await Promise.all(all)
  // Without the share, all of ada's would have been answered before.
  expect(replies.indexOf('bob')).toBeLessThan(5)
})
