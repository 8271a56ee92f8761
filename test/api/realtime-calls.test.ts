import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { from, operation } from '../../src/core/operation.ts'
import { created } from '../../src/core/reply.ts'
import { Envelope, Id, Input, Text, Type } from '../../src/core/schema.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannels } from '../support/channels.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const Echo = Type.Object({ text: Type.String(), bytes: Type.Optional(Type.Unknown()) })
const gates = new Map<string, Promise<void>>()
let echoed = 0

const echo = operation({
  route: 'POST /api/workspaces/{workspaceId}/echo',
  summary: 'Say it back',
  access: 'posts:write',
  workspace: from.path('workspaceId'),
  socket: true,
  path: Input({ workspaceId: Id }),
  query: Input({ times: Type.Optional(Type.Integer({ minimum: 1, maximum: 3 })) }),
  body: Input({ text: Text(1, 5_000), bytes: Type.Optional(Type.Unknown()) }),
  returns: { 201: Envelope(Echo) },
  example: { body: {} },
  handle: async ({ body, query }) => {
    await gates.get(body.text)
    echoed += 1
    return created('Echo', { ...body, text: body.text.repeat(query.times ?? 1) })
  },
})

const channels = new TestChannels()
const secret = uuidv7(Date.now())
const open = uuidv7(Date.now())
let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({
    registry: { ...api, probe: { echo } },
    adapt: (composed) => ({ ...composed, channels }),
    rateLimits: true,
    env: { SOCKET_POLLING: '1' },
  })
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob', { role: 'editor' })
  await world.member('acme', 'cleo', { scopes: ['team:read', 'chat:read'] })
  await world.workspace('other', 'olga')
  channels.members.set(secret, [world.id('ada'), world.id('bob')])
  channels.open.add(open)
})
afterEach(() => sockets.end())
afterAll(() => app?.stop())

interface Ack {
  readonly status: number
  readonly headers: Record<string, string>
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  readonly body: any
}

const connect = (name: string): Promise<Listening> => sockets.connect(world.key(name))

async function say({ socket }: Listening, name: string, message: unknown): Promise<Ack> {
  return (await socket.timeout(10_000).emitWithAck(name, message)) as Ack
}

const call = (who: Listening, message: unknown): Promise<Ack> => say(who, 'call', message)
const inAcme = () => ({ workspaceId: world.id('acme') })

test('a call gets the same reply as over REST, errors included', async () => {
  const cases = [
    ['ada', { path: inAcme(), body: { text: ' hi ' }, query: { times: 2 } }, 201],
    ['ada', { path: inAcme(), body: { text: '', more: 1 }, query: { times: 7 } }, 400],
    ['ada', { path: inAcme() }, 400],
    ['ada', { path: { workspaceId: 'no id' }, body: { text: 'hi' } }, 404],
    ['cleo', { path: inAcme(), body: { text: 'hi' } }, 403],
    ['olga', { path: inAcme(), body: { text: 'hi' } }, 404],
    ['ada', { path: inAcme(), body: { text: 'x'.repeat(6_000) } }, 400],
  ] as const
  for (const [name, request, status] of cases) {
    const socket = await connect(name)
    const requestId = `r-${name}-${status}`
    const answered = await call(socket, { operation: 'echo', ...request, requestId })
    const rest = await world.as(name).call(echo, { ...request, headers: { 'X-Request-Id': requestId } })
    expect(answered.status, JSON.stringify(answered.body)).toBe(status)
    expect(answered).toMatchObject({ status: rest.status, body: rest.body, headers: { 'x-request-id': requestId } })
    expect(Object.keys(answered.headers).sort()).toEqual(
      expect.arrayContaining(['content-type', 'ratelimit', 'ratelimit-policy', 'x-request-id']),
    )
  }
})

test('an invalid call is refused, and the socket stays connected', async () => {
  const ada = await connect('ada')
  expect(await call(ada, { operation: 'deleteWorkspace', path: inAcme() })).toMatchObject({
    status: 404,
    body: { status: false, code: 'route_not_found' },
  })
  for (const message of [
    null,
    'echo',
    [],
    { operation: 'echo', path: 'x' },
    { operation: 'echo', idempotencyKey: 3 },
    { operation: 'echo', extra: 1 },
  ]) {
    expect(await call(ada, message)).toMatchObject({ status: 400, body: { code: 'bad_request' } })
  }
  ada.socket.emit('call')
  ada.socket.emit('call', { operation: 'echo', path: inAcme(), body: { text: 'no acknowledgement' } })
  expect((await call(ada, { operation: 'echo', path: inAcme(), body: { text: 'still here' } })).status).toBe(201)
})

test('an idempotency key works across REST and sockets', async () => {
  const ada = await connect('ada')
  const request = { path: inAcme(), body: { text: 'once' } }
  const before = echoed
  const first = await call(ada, { operation: 'echo', ...request, idempotencyKey: 'key-1' })
  const again = await call(ada, { operation: 'echo', ...request, idempotencyKey: 'key-1' })
  const rest = await world.as('ada').call(echo, { ...request, headers: { 'Idempotency-Key': 'key-1' } })
  expect([first, again, rest].map(({ status }) => status)).toEqual([201, 201, 201])
  expect(again.headers['idempotent-replayed']).toBe('true')
  expect(rest.headers.get('idempotent-replayed')).toBe('true')
  expect(echoed).toBe(before + 1)
})

test('a call writes the canonical log line', async () => {
  const ada = await connect('ada')
  await call(ada, { operation: 'echo', path: inAcme(), body: { text: 'hi' }, requestId: 'over-a-socket' })
  const line = await waitFor(() => app.logs.find(({ requestId }) => requestId === 'over-a-socket'))
  expect(line).toMatchObject({ op: 'echo', status: 201, via: 'api_key', ...inAcme() })
})

test('a socket can have at most 32 waiting calls', async () => {
  const ada = await connect('ada')
  const { promise, resolve } = Promise.withResolvers<void>()
  gates.set('slow', promise)
  const waiting = Array.from({ length: 32 }, () =>
    call(ada, { operation: 'echo', path: inAcme(), body: { text: 'slow' } }),
  )
  const refused = await call(ada, { operation: 'echo', path: inAcme(), body: { text: 'one more' } })
  expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_calls' }, headers: { 'retry-after': '1' } })
  resolve()
  expect((await Promise.all(waiting)).every(({ status }) => status === 201)).toBe(true)
})

test('binary data arrives complete even after uWebSockets.js has reused the memory of the frame', async () => {
  for (const transports of [['websocket'], ['polling']]) {
    const ada = await sockets.connect(world.key('ada'), { transports })
    // Each is a separate frame. The first waits for the others while uWebSockets.js reuses its memory.
    const bytes = [3, 1_000, 15_000].map((length) => Buffer.alloc(length, `of ${length}`))
    const { body, status } = await call(ada, { operation: 'echo', path: inAcme(), body: { text: 'bytes', bytes } })
    expect(status).toBe(201)
    expect(body.data.bytes.map(({ data }: { data: number[] }) => Buffer.from(data))).toEqual(bytes)
  }
})

test('resume returns missed events, like REST, and later events arrive live', async () => {
  const bob = await connect('bob')
  const { body } = await say(bob, 'resume', { ...inAcme(), after: 0 })
  let { after } = body.data as { after: number }
  bob.socket.disconnect()
  const titles = ['one', 'two', 'three']
  const make = (title: string) => world.as('ada').call('POST /api/streams', { body: { ...inAcme(), title } })
  await make('one')
  await make('two')
  const back = await connect('bob')
  const live = make('three')
  const missed: { seq: number; data: { title: string } }[] = []
  for (let more = true; more;) {
    const page = await say(back, 'resume', { ...inAcme(), after, limit: 1 })
    expect(page.status).toBe(200)
    missed.push(...page.body.data.events)
    after = page.body.data.after
    more = page.body.data.hasMore
  }
  await live
  await waitFor(() => back.events.some(({ data }) => data.data?.title === 'three'))
  const lived = back.events.filter(({ data }) => data.seq > after).map(({ data }) => data)
  expect([...missed, ...lived].map(({ data }) => data.title)).toEqual(titles)
  expect(await say(back, 'resume', { workspaceId: world.id('other'), after: 0 })).toMatchObject({ status: 404 })
  expect(await say(back, 'resume', { ...inAcme(), after: -1 })).toMatchObject({ status: 400 })
  expect(await say(back, 'resume', { ...inAcme(), after: 0, before: 1 })).toMatchObject({ status: 400 })
})

test('typing is sent to members who can see the channel, and is rate limited', async () => {
  const [ada, bob, cleo, olga] = await Promise.all(['ada', 'bob', 'cleo', 'olga'].map(connect))
  const typed = (who?: Listening) =>
    who?.events.filter(({ name }) => name === 'chat.typing').map(({ data }) => data.channelId)
  const typing = (who: Listening | undefined, channelId: string) => say(who!, 'typing', { ...inAcme(), channelId })
  for (let count = 0; count < 5; count += 1) expect((await typing(ada, secret)).status).toBe(200)
  expect((await typing(ada, open)).status).toBe(200)
  expect((await typing(bob, open)).status).toBe(200)
  await waitFor(() => typed(cleo)?.length === 2)
  expect(typed(bob)).toEqual([secret, open, open])
  expect(bob?.events.find(({ name }) => name === 'chat.typing')?.data).toEqual({
    ...inAcme(),
    channelId: secret,
    userId: world.id('ada'),
    expiresInSeconds: 6,
  })
  expect(typed(olga)).toEqual([])
  expect((await typing(cleo, secret)).status).toBe(404)
  expect((await typing(cleo, open)).status).toBe(403)
  expect((await typing(olga, open)).status).toBe(404)
  expect((await typing(ada, uuidv7(Date.now()))).status).toBe(404)
  expect((await say(ada!, 'typing', { channelId: open })).status).toBe(400)
})
