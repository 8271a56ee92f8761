import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ChatLog } from '../../src/domains/talk/chat/chat-log.ts'
import { pruneChatLog } from '../../src/domains/talk/chat/jobs.ts'
import { CHAT_LOG_KEPT, ChatLogRetention } from '../../src/domains/talk/chat/log-retention.ts'
import * as chat from '../../src/domains/talk/chat/operations.ts'
import type { ChangeData, SyncData } from '../../src/domains/talk/chat/schemas.ts'
import {
  applyChange,
  byCode,
  EMPTY,
  fromSnapshot,
  GapError,
  stateHash,
  WINDOW,
  type ChannelState,
} from '../../src/domains/talk/chat/state.ts'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { WorkspaceEvent } from '../../src/core/event.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { syncEvents } from '../../src/domains/workspace/workspaces/operations.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
/** Live changes by channel, in the order they were published. */
const live = new Map<string, ChangeData[]>()
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  for (const name of ['bob', 'cyd', 'dan']) await world.member('acme', name, { role: 'admin' })
  app.node.resources.coordination.subscribe('ev:*', (events) => {
    for (const { data, type } of events as readonly WorkspaceEvent[]) {
      if (type !== 'chat.change') continue
      const change = data as ChangeData
      live.set(change.channelId, [...(live.get(change.channelId) ?? []), change])
    }
  })
})
afterEach(() => sockets.end())
afterAll(() => app?.stop())

const liveChanges = (channel: TestChannel): readonly ChangeData[] => live.get(channel.id) ?? []

function after(state: ChannelState, changes: readonly ChangeData[]): ChannelState {
  return changes.reduce(applyChange, state)
}

/** The state of a client that reconnects and reads the changes page by page. */
async function caughtUp(channel: TestChannel, from: ChannelState, log: ChatLog): Promise<ChannelState> {
  const member = { workspaceId: channel.path.workspaceId, userId: world.id('ada') }
  let state = from
  for (;;) {
    const page: SyncData = await log.changesAfter(member, channel.id, { after: state.seq })
    state = page.snapshot === null ? after(state, page.changes) : fromSnapshot(page.snapshot)
    if (!page.hasMore) return state
  }
}

const NAMES = ['ada', 'bob', 'cyd'] as const
const EMOJI = ['👍', '🎉', '🙈'] as const

/** An action of a user; `of` picks one of the existing messages. */
const step = record({
  by: constantFrom(...NAMES),
  what: constantFrom(
    ...([
      'send',
      'send',
      'reply',
      'edit',
      'delete',
      'react',
      'react',
      'unreact',
      'pin',
      'unpin',
      'topic',
      'people',
    ] as const),
  ),
  of: nat(30),
  emoji: constantFrom(...EMOJI),
})
type Step = typeof step extends { generate: (...args: never[]) => { value: infer T } } ? T : never

async function take(channel: TestChannel, messages: { _id: string; author: string }[], one: Step): Promise<void> {
  const target = messages[one.of % Math.max(1, messages.length)]
  const { path } = channel
  if (one.what === 'send' || (one.what === 'reply' && target === undefined)) {
    const body = one.of % 3 === 0 ? `hello <@${world.id('bob')}>` : `text ${one.of}`
    messages.push(await channel.send(one.by, body))
    return
  }
  if (one.what === 'topic') {
    await world.as(one.by).call(chat.updateChannel, { path, body: { topic: `topic ${one.of}` } })
    return
  }
  if (one.what === 'people') {
    const [operation, sent] =
      one.of % 2 === 0
        ? [chat.addChannelMembers, { path, body: { userIds: [world.id('dan')] } }]
        : [chat.removeChannelMember, { path: { ...path, userId: world.id('dan') } }]
    await world.as('ada').call(operation, sent)
    return
  }
  if (target === undefined) return
  const on = { path: { ...path, messageId: target._id } }
  const marked = { path: { ...on.path, emoji: one.emoji } }
  const author = NAMES.find((name) => world.id(name) === target.author) ?? 'ada'
  if (one.what === 'reply') {
    const reply = await channel.trySend(one.by, `reply ${one.of}`, { replyTo: target._id })
    if (reply.status === 201) messages.push(reply.body.data)
  } else if (one.what === 'edit') {
    await world.as(author).call(chat.editMessage, { ...on, body: { body: `edited ${one.of} by ${one.by}` } })
  } else if (one.what === 'delete') await world.as(one.by).call(chat.deleteMessage, on)
  else if (one.what === 'react') await world.as(one.by).call(chat.reactToMessage, marked)
  else if (one.what === 'unreact') await world.as(one.by).call(chat.unreactToMessage, marked)
  else await world.as(one.by).call(chat.editMessage, { ...on, body: { pinned: one.what === 'pin' } })
}

const privateChannel = () =>
  TestChannel.make(world, 'acme', 'ada', { private: true, memberIds: [world.id('bob'), world.id('cyd')] })

describe('a client that catches up has the state of one that was always connected', () => {
  test('after any actions, from any point', async () => {
    const run = asyncProperty(array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const channel = await privateChannel()
      const messages: { _id: string; author: string }[] = []
      for (const one of steps) await take(channel, messages, one)
      const changes = liveChanges(channel)
      const always = after(EMPTY, changes)
      expect(changes.map(({ seq }) => seq)).toEqual(changes.map((_, index) => index + 1))
      const log = app.composition.services.chat.log
      const inPages = new ChatLog(app.database, { tooFar: 1_000, page: 3 })
      const snapshots = new ChatLog(app.database, { tooFar: 2, page: 100 })
      for (let left = 0; left <= changes.length; left += 1) {
        const before = after(EMPTY, changes.slice(0, left))
        for (const way of left % 3 === 0 ? [log, inPages, snapshots] : [inPages]) {
          expect(await caughtUp(channel, before, way)).toEqual(always)
        }
      }
      expect(stateHash(await caughtUp(channel, EMPTY, log))).toBe(stateHash(always))
    })
    await assert(run, { numRuns: 12 })
  })

  test('beyond the window of messages that a state keeps', async () => {
    const channel = await privateChannel()
    const messages: { _id: string; author: string }[] = []
    // 30 is the most that one user can have waiting.
    for (let sent = 0; sent < WINDOW + 20; sent += 30) {
      const names = Array.from({ length: 30 }, (_, index) => NAMES[index % 3] ?? 'ada')
      messages.push(...(await Promise.all(names.map((by, index) => channel.send(by, `message ${sent + index}`)))))
    }
    messages.sort((a, b) => (a._id < b._id ? -1 : 1))
    for (const what of ['pin', 'edit', 'react', 'reply', 'delete'] as const) {
      for (const position of [0, 5, 60, 119])
        await take(channel, messages.slice(0, 120), { by: 'bob', what, of: position, emoji: '👍' })
    }
    const always = after(EMPTY, liveChanges(channel))
    expect(always.messages).toHaveLength(WINDOW)
    const snapshots = new ChatLog(app.database, { tooFar: 2, page: 100 })
    expect(await caughtUp(channel, EMPTY, app.composition.services.chat.log)).toEqual(always)
    expect(await caughtUp(channel, EMPTY, snapshots)).toEqual(always)
  })

  test('with edits, deletions and reactions made in the meantime (Rocket.Chat #41079)', async () => {
    const channel = await privateChannel()
    const [edited, deleted, liked] = [
      await channel.send('bob', 'to be edited'),
      await channel.send('bob', 'to be deleted'),
      await channel.send('bob', 'to be liked'),
    ]
    const before = after(EMPTY, liveChanges(channel))
    const on = (messageId: string) => ({ path: { ...channel.path, messageId } })
    await world.as('bob').call(chat.editMessage, { ...on(edited._id), body: { body: 'was edited' } })
    await world.as('bob').call(chat.deleteMessage, on(deleted._id))
    await world.as('cyd').call(chat.reactToMessage, { path: { ...on(liked._id).path, emoji: '👍' } })
    const { body } = await world.as('ada').call(chat.syncChannel, { path: channel.path, query: { after: before.seq } })
    const now = after(before, body.data.changes as ChangeData[])
    expect(now.messages).toMatchObject([
      { body: 'was edited', edits: 1 },
      { body: '', deletedAt: expect.any(String) },
      { reactions: [{ emoji: '👍', userIds: [world.id('cyd')] }] },
    ])
  })
})

test('sends one snapshot to a client that is ahead of the server (Mattermost #30388)', async () => {
  const channel = await privateChannel()
  await channel.send('bob', 'after the restore')
  const sync = async (from: number) =>
    (await world.as('ada').call(chat.syncChannel, { path: channel.path, query: { after: from } })).body.data as SyncData
  const first = await sync(500)
  expect([first.changes, first.hasMore, first.snapshot?.seq]).toEqual([[], false, 2])
  const { generation } = first
  expect(await sync(first.seq)).toEqual({ seq: 2, generation, hasMore: false, changes: [], snapshot: null })
})

test('sends a snapshot to a client whose number is of another history, although the channel has passed it', async () => {
  const channel = await privateChannel()
  await channel.send('bob', 'one')
  await channel.send('bob', 'two')
  const { body } = await world.as('ada').call(chat.listMessages, { path: channel.path })
  const { socket } = await sockets.connect(world.key('ada'))
  const sync = async (generation: string) => {
    const query = { after: 2, generation }
    const rest = (await world.as('ada').call(chat.syncChannel, { path: channel.path, query })).body.data as SyncData
    expect((await socket.timeout(10_000).emitWithAck('sync', { ...channel.path, ...query })).body.data).toEqual(rest)
    return [rest.changes.map(({ seq }) => seq), rest.snapshot?.seq, rest.generation]
  }
  expect(await sync(body.generation)).toEqual([[3], undefined, body.generation])
  expect(await sync('other')).toEqual([[], 3, body.generation])
})

describe('pruning the log', () => {
  const never = new AbortController().signal
  const numbers = async (channel: TestChannel) =>
    (
      await app.database.rows<{ seq: number }>('select seq from chat_log where channel_id = $1 order by seq', [
        channel.id,
      ])
    ).map(({ seq }) => seq)
  const sync = async (channel: TestChannel, from: number) =>
    (await world.as('ada').call(chat.syncChannel, { path: channel.path, query: { after: from } })).body.data as SyncData

  test('keeps the newest changes; clients further behind get a snapshot', async () => {
    const channel = await privateChannel()
    for (const text of ['a', 'b', 'c', 'd', 'e']) await channel.send('bob', text)
    const quiet = await privateChannel()
    const always = after(EMPTY, liveChanges(channel))
    const { database } = app
    const retention = new ChatLogRetention(database, new ManualClock(Date.now()))
    expect(await retention.prune(never, { changes: 4, days: 90 })).toBeGreaterThanOrEqual(2)
    expect([await numbers(channel), await numbers(quiet)]).toEqual([[3, 4, 5, 6], [1]])
    expect(await retention.prune(never, { changes: 4, days: 90 })).toBe(0)
    const at = async (from: number) => {
      const { changes, snapshot } = await sync(channel, from)
      return [changes.map(({ seq }) => seq), snapshot?.seq]
    }
    expect(await at(1)).toEqual([[], 6])
    expect(await at(2)).toEqual([[3, 4, 5, 6], undefined])
    for (const left of [0, 1, 2, 3, 6]) {
      const before = after(EMPTY, liveChanges(channel).slice(0, left))
      expect(await caughtUp(channel, before, app.composition.services.chat.log)).toEqual(always)
    }
  })

  test('deletes old changes, but never the newest, which holds the last number', async () => {
    const channel = await privateChannel()
    for (const text of ['a', 'b']) await channel.send('bob', text)
    const later = (ms: number) => new ManualClock(Date.now() + ms)
    const { database } = app
    const { days } = CHAT_LOG_KEPT
    await new ChatLogRetention(database, later(days * DAY - MINUTE)).prune(never)
    expect(await numbers(channel)).toEqual([1, 2, 3])
    await new ChatLogRetention(database, later(days * DAY + MINUTE)).prune(never)
    expect(await numbers(channel)).toEqual([3])
    // Drop the cached number, so that it is read from the log.
    app.composition.services.workspaces.memberships.changed(channel.path.workspaceId)
    expect((await channel.send('bob', 'after a long pause')).seq).toBe(4)
    expect((await sync(channel, 2)).changes.map(({ seq }) => seq)).toEqual([3, 4])
    expect((await sync(channel, 1)).snapshot?.messages.map(({ body }) => body)).toEqual([
      'a',
      'b',
      'after a long pause',
    ])
  })

  test('runs every night and keeps as many changes as a client can catch up on', async () => {
    const channel = await privateChannel()
    await app.database.run(
      `insert into chat_log (channel_id, seq, type, by_id, data, at)
       select $1, n, 'members', $2, '{"added": [], "removed": []}', now() from generate_series(2, 1005) n`,
      [channel.id, world.id('ada')],
    )
    expect((await sync(channel, 5)).changes).toHaveLength(200)
    await pruneChatLog.run({ ...app.composition.services, signal: never } as never)
    expect((await numbers(channel)).length).toBe(CHAT_LOG_KEPT.changes)
    expect((await sync(channel, 5)).changes).toHaveLength(200)
    expect((await sync(channel, 4)).snapshot?.seq).toBe(1005)
  })

  test('sends a snapshot, never a gap, to a client that reads during pruning', async () => {
    const channel = await privateChannel()
    for (const text of ['a', 'b', 'c']) await channel.send('bob', text)
    const { database } = app
    // Prune between reading the range of numbers and reading the changes.
    const pruning: Pick<typeof database, 'row' | 'rows' | 'run'> = {
      row: (text, values) => database.row(text, values),
      run: (text, values) => database.run(text, values),
      rows: async (text, values) => {
        await database.run('delete from chat_log where channel_id = $1 and seq < 3', [channel.id])
        return database.rows(text, values)
      },
    }
    const member = { workspaceId: world.id('acme'), userId: world.id('ada') }
    const page = await new ChatLog(pruning).changesAfter(member, channel.id, { after: 0 })
    expect([page.changes, page.snapshot?.seq]).toEqual([[], 4])
  })
})

test('loses no message between joining a room and reading history (Rocket.Chat.ReactNative #7547)', async () => {
  const channel = await privateChannel()
  const { events } = await sockets.connect(world.key('ada'))
  const talking = Promise.all(
    Array.from({ length: 30 }, (_, index) => channel.send(NAMES[index % 3] ?? 'ada', `${index}`)),
  )
  let state = await caughtUp(channel, EMPTY, app.composition.services.chat.log)
  const list = await world.as('ada').call(chat.listMessages, { path: channel.path, query: { limit: 100 } })
  await talking
  await waitFor(() => events.some(({ data }) => data.channelId === channel.id && data.seq === 31), {
    what: 'the last message on the socket',
  })
  const changes = events.filter(({ name }) => name === 'chat.change').map(({ data }) => data as ChangeData)
  state = after(state, changes)
  expect(state).toEqual(after(EMPTY, liveChanges(channel)))
  // The list has the number from which changes continue, too.
  const missing = changes.filter(({ seq, type }) => seq > list.body.seq && type === 'message')
  expect(list.body.data.length + missing.length).toBe(30)
})

test('detects a gap, and ignores a change that arrives twice', async () => {
  const channel = await privateChannel()
  for (const text of ['a', 'b', 'c']) await channel.send('bob', text)
  const changes = liveChanges(channel)
  const state = after(EMPTY, changes)
  expect(after(state, changes)).toBe(state)
  const [first, , third] = changes
  expect(() => after(EMPTY, [first, third] as ChangeData[])).toThrow(GapError)
})

test('publishes changes of a private channel to current members only', async () => {
  const channel = await privateChannel()
  const [bob, dan] = [await sockets.connect(world.key('bob')), await sockets.connect(world.key('dan'))]
  const on = { path: channel.path }
  await channel.send('ada', 'for the three of us')
  const types = async ({ socket }: typeof bob) =>
    ((await socket.timeout(10_000).emitWithAck('typing', channel.path)) as { status: number }).status
  expect([await types(bob), await types(dan)]).toEqual([200, 404])
  await world.as('ada').call(chat.addChannelMembers, { ...on, body: { userIds: [world.id('dan')] } })
  await channel.send('ada', 'hello dan')
  expect(await types(dan)).toBe(200)
  await world.as('ada').call(chat.removeChannelMember, { path: { ...on.path, userId: world.id('dan') } })
  await channel.send('ada', 'dan is gone')
  expect(await types(dan)).toBe(404)
  await waitFor(() => bob.events.some(({ data }) => data.seq === 6), { what: 'the last change' })
  const bodies = (events: typeof bob.events) =>
    events.flatMap(({ data, name }) =>
      name === 'chat.change' && data.type === 'message' ? data.data.message.body : [],
    )
  expect(bodies(bob.events)).toEqual(['for the three of us', 'hello dan', 'dan is gone'])
  expect(bodies(dan.events)).toEqual(['hello dan'])
  await waitFor(() => dan.events.some(({ name }) => name === 'channel.left'), { what: 'dan to receive channel.left' })
  const typing = (events: typeof bob.events) =>
    events.flatMap(({ data, name }) => (name === 'chat.typing' ? [data.userId] : []))
  expect(typing(bob.events)).toEqual([world.id('bob'), world.id('dan')])
  expect(typing(dan.events)).toEqual([world.id('dan')])
})

test('sends events of a private channel to members only: live, by resume and by syncEvents', async () => {
  const workspaceId = world.id('acme')
  const begin = (await world.as('dan').call(syncEvents, { path: { workspaceId }, query: { after: 0 } })).body.data
  const dan = await sockets.connect(world.key('dan'))
  const bob = await sockets.connect(world.key('bob'))
  const channel = await privateChannel()
  const rename = (topic: string) => world.as('ada').call(chat.updateChannel, { path: channel.path, body: { topic } })
  await rename('before dan')
  // An event has the same number live and when it is read later.
  const toldOf = (events: readonly { type: string; seq: number; data: { _id?: string; channelId?: string } }[]) =>
    events
      .filter(({ data, type }) => type.startsWith('channel.') && (data._id ?? data.channelId) === channel.id)
      .map(({ seq, type }) => `${seq} ${type}`)
  const live = ({ events }: typeof bob) => toldOf(events.flatMap(({ data }) => (data?.type ? [data] : [])))
  const later = async (name: string) => {
    const { body } = await world
      .as(name)
      .call(syncEvents, { path: { workspaceId }, query: { after: begin.lastSeq, limit: 100 } })
    return toldOf(body.data.events)
  }
  const resumed = async ({ socket }: typeof bob) => {
    const message = { workspaceId, after: begin.lastSeq, limit: 100 }
    return toldOf((await socket.timeout(10_000).emitWithAck('resume', message)).body.data.events)
  }
  await waitFor(() => live(bob).length === 2)
  const types = (entries: readonly string[]) => entries.map((one) => one.split(' ')[1] ?? '')
  expect(types(live(bob))).toEqual(['channel.created', 'channel.updated'])
  expect([await later('bob'), await resumed(bob)]).toEqual([live(bob), live(bob)])
  expect([live(dan), await later('dan'), await resumed(dan)]).toEqual([[], [], []])

  // As a member dan can read the channel's earlier events, and receives new ones live.
  await world.as('ada').call(chat.addChannelMembers, { path: channel.path, body: { userIds: [world.id('dan')] } })
  await rename('with dan')
  await waitFor(() => types(live(dan)).filter((type) => type === 'channel.updated').length === 2)
  expect(types(live(dan)).toSorted(byCode)).toEqual(['channel.created', 'channel.updated', 'channel.updated'])
  expect(new Set(await later('dan'))).toEqual(new Set([...(await later('bob')), ...live(dan)]))
  expect(types(await later('bob'))).toEqual(['channel.created', ...Array<string>(3).fill('channel.updated')])
  const { body } = await world.as('dan').call(chat.syncChannel, { path: channel.path, query: { after: 0 } })
  expect((body.data as SyncData).changes.map(({ type }) => type)).toEqual(['channel', 'channel', 'members', 'channel'])

  // After his removal he gets that event only, and can no longer read earlier ones.
  const seen = live(dan).length
  await world.as('ada').call(chat.removeChannelMember, { path: { ...channel.path, userId: world.id('dan') } })
  await rename('without dan')
  await waitFor(() => types(live(bob)).filter((type) => type === 'channel.updated').length === 5)
  await waitFor(() => live(dan).length > seen)
  expect(types(live(dan).slice(seen))).toEqual(['channel.left'])
  expect(types(await resumed(dan)).toSorted(byCode)).toEqual(['channel.created', 'channel.left'])
  expect(await resumed(dan)).toEqual(await later('dan'))
})

test('shows changes over sockets and REST to each other at once', async () => {
  const [one, other, bob] = [
    await sockets.connect(world.key('ada')),
    await sockets.connect(world.key('ada')),
    await sockets.connect(world.key('bob')),
  ]
  const path = { workspaceId: world.id('acme') }
  const call = async (operation: string, request: object) =>
    (await one.socket.timeout(10_000).emitWithAck('call', { operation, ...request })) as {
      readonly status: number
      // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
      readonly body: any
    }
  const made = await call('createChannel', { path, body: { kind: 'channel', name: 'both ways' } })
  const channel = new TestChannel(world, path.workspaceId, made.body.data._id)
  const rest = async (by: string) =>
    (await world.as(by).call(chat.listMessages, { path: channel.path })).body.data as Record<string, unknown>[]
  const overSocket = async () => (await call('listMessages', { path: channel.path })).body.data
  const { body: sent } = await call('sendMessage', { path: channel.path, body: { body: 'over the socket' } })
  const on = { path: { ...channel.path, messageId: sent.data._id as string } }
  expect(await rest('bob')).toEqual([sent.data])
  const reply = await channel.send('bob', 'over REST', { replyTo: sent.data._id })
  expect(await overSocket()).toMatchObject([{ thread: { replyCount: 1, lastReplySeq: 3 } }, { _id: reply._id }])
  await call('editMessage', { ...on, body: { body: 'edited over a wireless socket' } })
  await world.as('bob').call(chat.reactToMessage, { path: { ...on.path, emoji: '👍' } })
  await call('editMessage', { ...on, body: { pinned: true } })
  await world.as('bob').call(chat.deleteMessage, { path: { ...channel.path, messageId: reply._id } })
  expect(await overSocket()).toEqual(await rest('bob'))
  expect(await rest('ada')).toMatchObject([
    { body: 'edited over a wireless socket', edits: 1, pinnedBy: world.id('ada'), reactions: [{ emoji: '👍' }] },
    { body: '', deletedAt: expect.any(String) },
  ])
  const query = { q: 'wireless' }
  const found = await world.as('ada').call(chat.searchMessages, { path, query })
  expect((await call('searchMessages', { path, query })).body.data).toEqual(found.body.data)
  expect(found.body.data).toHaveLength(1)
  // All clients of a user share the read marker, and no other user sees it.
  await call('markChannelRead', { path: channel.path, body: { seq: 3 } })
  const { body: muted } = await world
    .as('ada')
    .call(chat.markChannelRead, { path: channel.path, body: { muted: true } })
  expect(muted.data).toMatchObject({ readSeq: 3, muted: true })
  expect((await call('getChannel', { path: channel.path })).body.data).toMatchObject({ readSeq: 3, muted: true })
  await channel.send('ada', 'the last word')
  const changes = ({ events }: typeof one) =>
    events.flatMap(({ data, name }) => (name === 'chat.change' && data.channelId === channel.id ? [data] : []))
  await waitFor(() => [one, other, bob].every((who) => changes(who).at(-1)?.data.message?.body === 'the last word'))
  const { body: synced } = await world.as('bob').call(chat.syncChannel, { path: channel.path, query: { after: 0 } })
  const numbers = (synced.data as SyncData).changes.map(({ seq }) => seq)
  for (const who of [one, other, bob]) expect(changes(who).map(({ seq }) => seq)).toEqual(numbers)
  const reads = ({ events }: typeof one) => events.flatMap(({ data, name }) => (name === 'chat.read' ? [data] : []))
  expect(reads(other)).toEqual([
    { ...channel.path, readSeq: 3, muted: false, unreadCount: 0, mentionCount: 0 },
    { ...channel.path, readSeq: 3, muted: true, unreadCount: 0, mentionCount: 0 },
  ])
  expect([reads(one), reads(bob)]).toEqual([reads(other), []])
})
