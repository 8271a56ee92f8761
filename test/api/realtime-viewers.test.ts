import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let workspaceId: string
let postId: string
const clock = new ManualClock()
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  workspaceId = await world.workspace('acme', 'ada')
  await world.member('acme', 'grace', { scopes: ['posts:read'] })
  await world.member('acme', 'stranger', { scopes: ['streams:read'] })
  await world.workspace('other', 'eve')
  const body = { workspaceId, content: 'Launch' }
  postId = (await world.as('ada').call('POST /api/posts', { body })).body.data._id
})
afterEach(() => sockets.end())
afterAll(() => app.stop())

type Socket = Awaited<ReturnType<typeof sockets.connect>>
const connect = (name: string) => sockets.connect(world.key(name))
const report = (socket: Socket, state: string, more: object = {}) =>
  socket.socket.emitWithAck('viewer', { workspaceId, kind: 'post', resourceId: postId, status: state, ...more })
const seenBy = (socket: Socket) =>
  socket.events.filter(({ name }) => name === 'viewer.updated').map(({ data }) => data as Record<string, unknown>)

test('members who may read a post see who opens it, types and leaves', async () => {
  const [ada, grace, stranger, eve] = [
    await connect('ada'),
    await connect('grace'),
    await connect('stranger'),
    await connect('eve'),
  ]
  expect((await report(ada, 'viewing')).body.data).toEqual([])
  expect((await report(grace, 'viewing')).body.data).toEqual([{ userId: world.id('ada'), status: 'viewing' }])
  await report(grace, 'typing')
  await report(grace, 'gone')
  const of = (userId: string) =>
    seenBy(ada)
      .filter((event) => event['userId'] === userId)
      .map((event) => event['status'])
  await waitFor(() => of(world.id('grace')).length === 3)
  expect(of(world.id('grace'))).toEqual(['viewing', 'typing', 'gone'])
  expect(seenBy(grace)[0]).toEqual({
    workspaceId,
    kind: 'post',
    resourceId: postId,
    userId: world.id('ada'),
    status: 'viewing',
    expiresInSeconds: 45,
  })
  expect([...seenBy(stranger), ...seenBy(eve)]).toEqual([])
  expect(await app.database.rows("select 1 from workspace_events where type = 'viewer.updated'")).toEqual([])
})

test('is refused to those who may not read it, and for what is not in the workspace', async () => {
  const [ada, stranger, eve] = [await connect('ada'), await connect('stranger'), await connect('eve')]
  const other = world.id('other')
  const streamId = (await world.as('ada').call('POST /api/streams', { body: { workspaceId, title: 'Hi' } })).body.data
    ._id
  const refused = [
    await report(stranger, 'viewing'),
    await report(eve, 'viewing'),
    await report(eve, 'viewing', { workspaceId: other }),
    await report(ada, 'viewing', { resourceId: workspaceId }),
    await report(ada, 'viewing', { kind: 'stream' }),
    await report(ada, 'viewing', { kind: 'asset' }),
  ]
  expect(refused.map(({ status, body }) => `${status} ${body.code}`)).toEqual(Array(6).fill('404 not_found'))
  expect((await report(ada, 'viewing', { kind: 'secret' })).status).toBe(400)
  const file = { name: 'a.png', content: PIXEL, type: 'image/png' }
  const asset = await world.as('ada').call('POST /api/assets/upload', { body: { workspaceId }, file })
  expect((await report(ada, 'viewing', { kind: 'asset', resourceId: asset.body.data._id })).status).toBe(200)
  expect((await report(stranger, 'viewing', { kind: 'stream', resourceId: streamId })).status).toBe(200)
})

test('ends when the last socket of a user closes, or by itself', async () => {
  const [ada, first, second] = [await connect('ada'), await connect('grace'), await connect('grace')]
  await report(first, 'viewing')
  await report(second, 'viewing')
  first.socket.disconnect()
  await report(second, 'typing')
  second.socket.disconnect()
  const states = () =>
    seenBy(ada)
      .filter((event) => event['userId'] === world.id('grace'))
      .map((event) => event['status'])
  await waitFor(() => states().at(-1) === 'gone')
  expect(states()).toEqual(['viewing', 'typing', 'gone'])
  const third = await connect('grace')
  await report(third, 'viewing')
  expect((await report(ada, 'viewing')).body.data).toHaveLength(1)
  clock.advance(46_000)
  await waitFor(async () => (await report(ada, 'viewing')).body.data.length === 0)
})

test('is announced rarely, and for ten things of a socket at most', async () => {
  const [ada, grace] = [await connect('ada'), await connect('grace')]
  await Promise.all(Array.from({ length: 20 }, () => report(grace, 'typing')))
  await report(grace, 'viewing')
  await waitFor(() => seenBy(ada).some((event) => event['status'] === 'viewing'))
  expect(seenBy(ada).map((event) => event['status'])).toEqual(['typing', 'viewing'])
  const posts = await Promise.all(
    Array.from({ length: 11 }, async (_, index) => {
      const body = { workspaceId, content: `Post ${index}` }
      return (await world.as('ada').call('POST /api/posts', { body })).body.data._id as string
    }),
  )
  for (const resourceId of posts) await report(grace, 'viewing', { resourceId })
  await waitFor(() => seenBy(ada).filter((event) => event['status'] === 'gone').length >= 2)
  const gone = seenBy(ada)
    .filter((event) => event['status'] === 'gone')
    .map((event) => event['resourceId'])
  expect(gone).toEqual([postId, posts[0]])
})
