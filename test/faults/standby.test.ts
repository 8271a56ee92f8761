import { io } from 'socket.io-client'
import { afterEach, describe, expect, test } from 'vitest'
import { stateHash, fromSnapshot, type ChannelState } from '../../src/domains/talk/chat/state.ts'
import type { FollowedChannel } from '../../src/sdk/channel.ts'
import { SocketClient } from '../../src/sdk/socket-client.ts'
import { startApp, type App, type AppOptions } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { startRedis } from '../support/redis.ts'
import { hasServers, PostgresPair } from '../support/standby.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step()
})

async function startPair(): Promise<PostgresPair> {
  const pair = await PostgresPair.start()
  undo.push(() => pair.stop())
  return pair
}

async function startNode(pair: PostgresPair, options: AppOptions = {}): Promise<App> {
  const app = await startApp({ databaseUrl: pair.url, ...options })
  undo.push(() => app.stop())
  return app
}

function connect(world: World, name: string, app = world.app): SocketClient {
  // Longer than the test: nothing may depend on the check of quiet channels.
  const client = new SocketClient({ url: app.url, io, token: world.key(name), retryDelayMs: 20, quietMs: 3_600_000 })
  undo.push(() => client.close())
  return client
}

/** Follows a channel until it is live. */
async function follow(client: SocketClient, { path }: TestChannel, state?: ChannelState): Promise<FollowedChannel> {
  const channel = client.channel(path, state)
  await waitFor(() => channel.view.isLive, { what: 'a channel' })
  return channel
}

const bodies = ({ messages }: ChannelState) => messages.map(({ body }) => body)

/** Sends messages that the server acknowledges. */
async function say(channel: TestChannel, texts: readonly string[], app?: App): Promise<void> {
  // By turns, because each may send ten messages at once.
  for (const [index, text] of texts.entries()) await channel.send(index % 2 === 0 ? 'ada' : 'bob', text, {}, app)
}

/** Waits until a client has exactly the messages of the server. */
async function waitForTruth(app: App, channel: TestChannel, followed: FollowedChannel): Promise<void> {
  const { channelId, workspaceId } = channel.path
  const { log } = app.composition.services.chat
  const ada = channel.world.id('ada')
  await waitFor(
    async () =>
      stateHash(followed.view.state) === stateHash(fromSnapshot(await log.snapshot(workspaceId, ada, channelId))),
    { what: 'the messages of the server' },
  )
}

/** The numbers that are stored for a channel, and for the events of its workspace. */
async function numbers(app: App, { path }: TestChannel): Promise<{ changes: number[]; events: number[] }> {
  const read = async (statement: string, id: string) =>
    (await app.database.rows<{ seq: number }>(statement, [id])).map(({ seq }) => seq)
  return {
    changes: await read('select seq from chat_log where channel_id = $1 order by seq', path.channelId),
    events: await read('select seq from workspace_events where workspace_id = $1 order by seq', path.workspaceId),
  }
}

const count = (to: number) => Array.from({ length: to }, (_, index) => index + 1)

/** The numbers have no gaps, so they are those up to their count. */
async function expectNoGaps(app: App, channel: TestChannel): Promise<void> {
  const { changes, events } = await numbers(app, channel)
  expect(changes).toEqual(count(changes.length))
  expect(events).toEqual(count(events.length))
}

const texts = (name: string, many: number) => count(many).map((number) => `${name} ${number}`)

async function makeWorld(app: App): Promise<{ world: World; busy: TestChannel; idle: TestChannel }> {
  const world = new World(app)
  for (const workspace of ['busy', 'idle']) {
    await world.workspace(workspace, 'ada')
    await world.member(workspace, 'bob', { role: 'editor' })
  }
  return {
    world,
    busy: await TestChannel.make(world, 'busy', 'ada'),
    idle: await TestChannel.make(world, 'idle', 'ada'),
  }
}

const makeStream = (world: World, workspace: string, title: string) =>
  world.as('ada').call('POST /api/streams', { body: { workspaceId: world.id(workspace), title } })

describe.skipIf(!hasServers)('after the promotion of a standby', () => {
  test('that lacks acknowledged changes, numbers continue without gaps, and clients have exactly what the server has', async () => {
    const pair = await startPair()
    const app = await startNode(pair)
    const { busy, idle, world } = await makeWorld(app)
    const ada = connect(world, 'ada')
    const bob = connect(world, 'bob')
    const seen: string[] = []
    ada.onMessage((name) => name === 'missed' && seen.push(name))
    const resets: string[] = []
    const events = (client: SocketClient, name: string, position = {}) =>
      client.events(busy.path.workspaceId, {
        ...position,
        onEvent: () => undefined,
        onReset: () => resets.push(name),
      })
    const [hers, hersIdle] = [await follow(ada, busy), await follow(ada, idle)]
    const [his, hisEvents] = [await follow(bob, busy), events(bob, 'bob')]
    events(ada, 'ada')
    await say(busy, texts('kept', 4))
    await say(idle, texts('kept', 2))
    await pair.disconnect()
    await say(busy, texts('lost', 8))
    await say(idle, texts('lost', 2))
    expect((await makeStream(world, 'busy', 'Lost')).status).toBe(201)
    for (const one of [hers, his]) await waitFor(() => bodies(one.view.state).includes('lost 8'))
    await waitFor(() => bodies(hersIdle.view.state).includes('lost 2'))
    const newest = (await numbers(app, busy)).events.length
    await waitFor(() => hisEvents.after() === newest)
    // He returns when the channel has passed the numbers that he knows.
    const away = his.view.state
    const position = { after: hisEvents.after(), generation: hisEvents.generation() }
    bob.close()

    await pair.killPrimary()
    await pair.promote()
    // Nobody does anything in the idle workspace.
    await waitFor(() => seen.length > 0, { what: 'the notice' })
    await waitForTruth(app, idle, hersIdle)
    expect(bodies(hersIdle.view.state)).toEqual(texts('kept', 2))
    await waitForTruth(app, busy, hers)
    expect(bodies(hers.view.state)).toEqual(texts('kept', 4))
    await waitFor(() => resets.includes('ada'))

    await say(busy, texts('new', 12))
    expect((await makeStream(world, 'busy', 'New')).status).toBe(201)
    expect((await makeStream(world, 'busy', 'Newer')).status).toBe(201)
    await expectNoGaps(app, busy)
    await waitFor(() => hers.view.state.seq === 1 + 4 + 12)
    await waitForTruth(app, busy, hers)
    expect(away.seq).toBeLessThan(hers.view.state.seq)
    const again = connect(world, 'bob')
    events(again, 'bob again', position)
    await waitForTruth(app, busy, await follow(again, busy, away))
    await waitFor(() => resets.includes('bob again'))
    expect(app.logs.filter(({ msg }) => msg?.startsWith('another PostgreSQL server has taken over'))).toHaveLength(1)
  })

  test('slots, credentials and idempotency keys that it lacks are not used from memory, and jobs go on', async () => {
    const pair = await startPair()
    const app = await startNode(pair)
    const world = new World(app)
    await world.user('ada', { plan: 'business' })
    const workspaceId = await world.workspace('acme', 'ada')
    const ada = world.as('ada')
    const account = { workspaceId, platform: 'mastodon', sandbox: true }
    const accountId = (await ada.call('POST /api/social-accounts', { body: account })).body.data._id
    const slotsAt = async (time: string) => {
      const slots = ['monday', 'tuesday'].map((weekday) => ({ weekday, time }))
      const set = await ada.call('PUT /api/posts/queue', { body: { workspaceId, timezone: 'UTC', slots } })
      expect(set.status, set.text).toBe(200)
    }
    const queued = async (content: string, key: Record<string, string> = {}) => {
      const body = { workspaceId, content, queue: true, targets: [{ accountId }] }
      const made = await ada.call('POST /api/posts', { body, headers: key })
      expect(made.status, made.text).toBe(201)
      return made.body.data
    }
    await slotsAt('09:00')
    const once = { 'Idempotency-Key': 'one-key' }
    const kept = await queued('kept')
    await pair.disconnect()
    const lost = await queued('lost', once)
    expect(lost.scheduledFor > kept.scheduledFor).toBe(true)
    await slotsAt('17:00')
    await queued('lost too')
    const created = await ada.call('POST /api/users/me/api-keys', { body: { name: 'lost' } })
    const withLostKey = () => app.send('GET /api/users/me', { apiKey: created.body.data.apiKey })
    expect((await withLostKey()).status).toBe(200)
    await pair.killPrimary()
    await pair.promote()
    // Remembered until the node connects to the new primary.
    await waitFor(async () => (await withLostKey()).status === 401, { what: 'the lost key to be refused' })
    const again = await queued('lost', once)
    expect(again._id).not.toBe(lost._id)
    expect(again.scheduledFor).toBe(lost.scheduledFor)
    const { body } = await ada.call('GET /api/posts', { query: { workspaceId } })
    expect(body.data.map(({ content }: { content: string }) => content).sort()).toEqual(['kept', 'lost'])
    // A job sends the mail that confirms an address.
    await world.user('bob')
  })

  test('another node takes over from one that remembers what is lost', async () => {
    const pair = await startPair()
    const redis = await startRedis()
    undo.push(() => redis.stop())
    // It sends the mails that confirm addresses.
    const first = await startNode(pair, { redisUrl: redis.url, env: { ROLES: 'api,jobs' } })
    const { busy, world } = await makeWorld(first)
    const second = await startNode(pair, { redisUrl: redis.url })
    const [there, here] = [connect(world, 'ada', second), connect(world, 'bob')]
    const [hers, his] = [await follow(there, busy), await follow(here, busy)]
    await say(busy, texts('kept', 4))
    await pair.disconnect()
    await say(busy, texts('lost', 6))
    for (const one of [hers, his]) await waitFor(() => bodies(one.view.state).includes('lost 6'))
    const away = his.view.state
    await pair.killPrimary()
    await pair.promote()
    here.close()
    // It hands its actors over as it remembers them.
    await first.stop()
    await say(busy, texts('new', 8), second)
    await expectNoGaps(second, busy)
    await waitFor(() => bodies(hers.view.state).includes('new 8'))
    await waitForTruth(second, busy, hers)
    await waitForTruth(second, busy, await follow(connect(world, 'bob', second), busy, away))
    expect(bodies(hers.view.state)).toEqual([...texts('kept', 4), ...texts('new', 8)])
  })

  test('that is synchronous, nothing acknowledged is lost', async () => {
    const pair = await startPair()
    const app = await startNode(pair)
    const { busy, world } = await makeWorld(app)
    await pair.synchronous()
    const hers = await follow(connect(world, 'ada'), busy)
    await say(busy, texts('kept', 4))
    await pair.disconnect()
    // Not acknowledged while no standby has it.
    const waiting = busy.trySend('ada', 'waits')
    const commits = `select 1 from pg_stat_activity where wait_event = 'SyncRep'`
    await waitFor(async () => (await pair.query('primary', commits)).length > 0, { what: 'a commit that waits' })
    expect(bodies(hers.view.state)).toEqual(texts('kept', 4))
    await pair.connect()
    expect((await waiting).status).toBe(201)
    await say(busy, texts('also kept', 4))
    await pair.killPrimary()
    await pair.promote()
    const all = [...texts('kept', 4), 'waits', ...texts('also kept', 4), 'new']
    await busy.send('ada', 'new')
    await waitFor(() => bodies(hers.view.state).length === all.length)
    await waitForTruth(app, busy, hers)
    expect(bodies(hers.view.state)).toEqual(all)
    await expectNoGaps(app, busy)
  })
})
