import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { from, operation } from '../../src/core/operation.ts'
import { done } from '../../src/core/reply.ts'
import { Done, Id, Input, Type } from '../../src/core/schema.ts'
import { streamDeleted } from '../../src/domains/live/streams/events.ts'
import { syncEvents } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannels } from '../support/channels.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Emits an event for the audience that the test names. */
const announce = operation({
  route: 'POST /api/announcements',
  summary: 'Announce something',
  access: 'team:read',
  workspace: from.body('workspaceId'),
  turn: true,
  body: Input({
    workspaceId: Id,
    id: Id,
    channel: Type.Optional(Id),
    user: Type.Optional(Id),
    stored: Type.Optional(Type.Boolean()),
  }),
  returns: { 200: Done },
  example: { body: {} },
  handle: async ({ body: { id, channel, user, stored }, turn }) => {
    const type = stored === false ? ({ ...streamDeleted, stored } as const) : streamDeleted
    turn.emit(type, { streamId: id }, channel ? { channel } : user ? { user } : undefined)
    return done('Announced')
  },
})

const channels = new TestChannels()
const room = uuidv7(Date.now())
let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ registry: { ...api, probe: { announce } }, adapt: (composed) => ({ ...composed, channels }) })
  world = new World(app)
  await world.workspace('acme', 'ada')
  for (const name of ['bob', 'cleo']) await world.member('acme', name, { role: 'editor' })
  // A member of the channel without the scope to read chat.
  await world.member('acme', 'dan', { scopes: ['team:read', 'streams:read'] })
  channels.members.set(
    room,
    ['ada', 'bob', 'dan'].map((name) => world.id(name)),
  )
})
afterEach(() => sockets.end())
afterAll(() => app?.stop())

const connect = (name: string): Promise<Listening> => sockets.connect(world.key(name))
const receivedIds = ({ events }: Listening) =>
  events.filter(({ name }) => name === 'stream.deleted').map(({ data }) => data.data.streamId as string)

async function announced(options: object = {}): Promise<string> {
  const id = uuidv7(Date.now())
  const { status, text } = await world
    .as('ada')
    .call(announce, { body: { workspaceId: world.id('acme'), id, ...options } })
  expect(status, text).toBe(200)
  return id
}

/** Publishes an event directly, as another node would. */
function publish(id: string, channel?: string): void {
  const workspaceId = world.id('acme')
  app.node.resources.coordination.publish(`ev:${workspaceId}`, [
    { workspaceId, seq: 1, type: 'stream.deleted', data: { streamId: id }, at: new Date().toISOString(), channel },
  ])
}

test('events of a private channel reach its members only, and events for a user that user only', async () => {
  const [ada, bob, cleo, dan] = await Promise.all(['ada', 'bob', 'cleo', 'dan'].map(connect))
  const inChannel = await announced({ channel: room })
  const forCleo = await announced({ user: world.id('cleo') })
  const forAll = await announced()
  await waitFor(() => [ada, bob, cleo, dan].every((one) => one && receivedIds(one).includes(forAll)))
  expect(receivedIds(ada!)).toEqual([inChannel, forAll])
  expect(receivedIds(bob!)).toEqual([inChannel, forAll])
  expect(receivedIds(cleo!)).toEqual([forCleo, forAll])
  expect(receivedIds(dan!)).toEqual([forAll])
})

test('stored events have the same audience, and events that are not stored have no number', async () => {
  const page = async (name: string, after: number) =>
    (await world.as(name).call(syncEvents, { path: { workspaceId: world.id('acme') }, query: { after } })).body.data
  const { lastSeq } = await page('cleo', 0)
  const inChannel = await announced({ channel: room })
  const passing = await announced({ stored: false })
  const forCleo = await announced({ user: world.id('cleo') })
  const forAll = await announced()
  const ids = async (name: string) =>
    (await page(name, lastSeq)).events.map((event: { data: { streamId: string } }) => event.data.streamId)
  expect(await ids('cleo')).toEqual([forCleo, forAll])
  expect(await ids('bob')).not.toContain(inChannel)
  expect(await ids('bob')).not.toContain(passing)
  expect((await page('bob', 0)).lastSeq).toBe(lastSeq + 3)
})

test('a removed member receives no further event, and a new member misses none', async () => {
  const [bob, cleo, dan] = await Promise.all(['bob', 'cleo', 'dan'].map(connect))
  const before = uuidv7(Date.now())
  const after = uuidv7(Date.now())
  publish(before, room)
  channels.members.set(room, [world.id('ada'), world.id('cleo')])
  channels.changed(world.id('acme'))
  // The event of the next batch, before the rooms could be read again.
  publish(after, room)
  await waitFor(() => receivedIds(cleo!).includes(after))
  const last = await announced()
  await waitFor(() => [bob, dan].every((one) => one && receivedIds(one).includes(last)))
  expect(receivedIds(bob!)).toEqual([before, last])
  expect(receivedIds(cleo!)).toEqual([after, last])

  await app.database.run('delete from workspace_members where user_id = $1', [world.id('bob')])
  app.composition.services.workspaces.memberships.changed(world.id('acme'))
  const afterRemoval = uuidv7(Date.now())
  publish(afterRemoval)
  await waitFor(() => receivedIds(cleo!).includes(afterRemoval))
  const ada = await connect('ada')
  const end = await announced()
  await waitFor(() => receivedIds(ada).includes(end) && receivedIds(cleo!).includes(end))
  expect(receivedIds(bob!)).toEqual([before, last])
})

test('events keep their order when members change', async () => {
  const ada = await connect('ada')
  const ids = Array.from({ length: 30 }, () => uuidv7(Date.now()))
  for (const [index, id] of ids.entries()) {
    if (index % 7 === 3) channels.changed(world.id('acme'))
    publish(id, index % 2 === 0 ? room : undefined)
    if (index % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await waitFor(() => receivedIds(ada).length === ids.length)
  expect(receivedIds(ada)).toEqual(ids)
})

test('sockets leave their rooms when members cannot be read, and are notified when they rejoin', async () => {
  const ada = await connect('ada')
  const of = channels.of.bind(channels)
  channels.of = () => Promise.reject(new Error('away'))
  channels.changed(world.id('acme'))
  const missed = uuidv7(Date.now())
  publish(missed)
  await waitFor(() => app.logs.some((line) => /have left it/.test(line.msg ?? '')))
  channels.of = of
  await waitFor(() => ada.events.some(({ name }) => name === 'missed'))
  const id = await announced()
  await waitFor(() => receivedIds(ada).includes(id))
  expect(receivedIds(ada)).not.toContain(missed)
})
