import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as chat from '../../src/domains/talk/chat/operations.ts'
import { ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { Sockets } from '../support/sockets.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
const at = () => ({ path: { workspaceId: world.id('acme') } })

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  for (const name of ['bob', 'cyd']) await world.member('acme', name)
})
afterAll(() => app?.stop())

const on = (channel: TestChannel, messageId: string, more: object = {}) => ({
  path: { ...channel.path, messageId, ...more },
})

describe('sending', () => {
  test('numbers concurrent messages without gaps', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const names = ['ada', 'bob', 'cyd']
    const sent = await Promise.all(
      Array.from({ length: 60 }, (_, index) => channel.send(names[index % 3] ?? 'ada', `message ${index}`)),
    )
    const seqs = sent.map(({ seq }) => seq as number).toSorted((a, b) => a - b)
    expect(seqs).toEqual(Array.from({ length: 60 }, (_, index) => index + 2))
  })

  test('creates one message for a clientId, with concurrent requests and after a new activation', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const again = () => channel.trySend('bob', 'once', { clientId: 'one' })
    const replies = await Promise.all(Array.from({ length: 12 }, again))
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 11 }, () => 200),
      201,
    ])
    expect(new Set(replies.map(({ body }) => body.data._id)).size).toBe(1)
    expect((await channel.trySend('ada', 'mine', { clientId: 'one' })).status).toBe(201)
    // A new epoch starts without the old one's memory.
    await app.database.run('update actor_fence set epoch = epoch + 1')
    const reply = await again()
    expect([reply.status, reply.body.data]).toEqual([200, replies[0]?.body.data])
    expect((await channel.send('bob', 'next')).seq).toBe(4)
  })

  test('leaves no gap when the database has lost messages, as after the promotion of a late standby', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    expect((await channel.send('ada', 'kept')).seq).toBe(2)
    const key = `ws:${world.id('acme')}`
    const row = await app.database.row<{ epoch: number; seq: number; batch: string }>(
      'select epoch, seq, batch from actor_fence where key = $1',
      [key],
    )
    for (const text of ['lost', 'also lost']) await channel.send('bob', text)
    const { channelId } = channel.path
    await app.database.run('delete from chat_log where channel_id = $1 and seq > 2', [channelId])
    await app.database.run('delete from chat_messages where channel_id = $1 and seq > 2', [channelId])
    await app.database.run('update actor_fence set epoch = $2, seq = $3, batch = $4 where key = $1', [
      key,
      row?.epoch ?? null,
      row?.seq ?? null,
      row?.batch ?? null,
    ])
    expect((await channel.send('cyd', 'new')).seq).toBe(3)
    const { body } = await world.as('bob').call(chat.syncChannel, { path: channel.path, query: { after: 4 } })
    expect(body.data.seq).toBe(3)
    expect(body.data.snapshot.messages.map((message: { body: string }) => message.body)).toEqual(['kept', 'new'])
  })

  test('gives no number to a rejected message, and accepts the others', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const nothing = '01900000-0000-7000-8000-00000000dead'
    const replies = await Promise.all([
      channel.trySend('ada', 'one'),
      channel.trySend('bob', '', {}),
      channel.trySend('bob', 'no such message', { replyTo: nothing }),
      channel.trySend('cyd', '<!channel> all of you'),
      channel.trySend('bob', 'two'),
      channel.trySend('bob', 'x'.repeat(8_001)),
    ])
    expect(replies.map(({ status }) => status)).toEqual([201, 400, 400, 403, 201, 400])
    expect([1, 2].map((index) => replies[index]?.body.errors?.[0]?.path)).toEqual(['/body/body', '/body/replyTo'])
    const { body } = await world.as('ada').call(chat.syncChannel, { path: channel.path, query: { after: 0 } })
    expect(body.data.changes.map((change: { seq: number; type: string }) => [change.seq, change.type])).toEqual([
      [1, 'channel'],
      [2, 'message'],
      [3, 'message'],
    ])
  })

  test('fails only the faulty message of a batch that rolls back, and leaves no gap', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    await app.database.run(`create function poison() returns trigger language plpgsql as
      $$ begin if new.body = 'poison' then raise exception 'poisoned'; end if; return new; end $$`)
    await app.database.run(
      'create trigger poison before insert on chat_messages for each row execute function poison()',
    )
    const bodies = Array.from({ length: 15 }, (_, index) => (index === 7 ? 'poison' : `message ${index}`))
    const replies = await Promise.all(
      bodies.map((body, index) => channel.trySend('bob', body, { clientId: `p${index}` })),
    )
    await app.database.run('drop trigger poison on chat_messages')
    expect(replies.map(({ status }) => status)).toEqual(bodies.map((body) => (body === 'poison' ? 500 : 201)))
    const seqs = replies.flatMap(({ body }) => (body.status ? [body.data.seq as number] : []))
    expect(seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 14 }, (_, index) => index + 2))
    const again = await channel.trySend('bob', 'not poison any more', { clientId: 'p7' })
    expect([again.status, again.body.data.seq]).toEqual([201, 16])
  })
})

describe('changing', () => {
  test('lets authors edit, and keeps the earlier texts as history', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const { _id } = await channel.send('bob', 'first')
    const edit = (by: string, body: string) =>
      world.as(by).call(chat.editMessage, { ...on(channel, _id), body: { body } })
    expect((await edit('ada', 'not mine')).body.code).toBe('not_your_message')
    expect((await edit('bob', 'second')).body.data).toMatchObject({ body: 'second', edits: 1 })
    expect((await edit('bob', 'third')).body.data).toMatchObject({ body: 'third', edits: 2 })
    const same = await edit('bob', 'third')
    expect(same.body.data.edits).toBe(2)
    const { body } = await world.as('cyd').call(chat.listMessages, { path: channel.path, query: { history: true } })
    expect(body.data[0].history.map((entry: { body: string }) => entry.body)).toEqual(['first', 'second'])
    expect(body.seq).toBe(4)
  })

  test('allows a hundred edits of a message', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const { _id } = await channel.send('bob', 'first')
    await app.database.run('update chat_messages set edits = 99 where id = $1', [_id])
    const edit = (body: string) => world.as('bob').call(chat.editMessage, { ...on(channel, _id), body: { body } })
    expect((await edit('last')).body.data).toMatchObject({ body: 'last', edits: 100 })
    expect((await edit('one more')).body.code).toBe('conflict')
    expect((await edit('last')).status).toBe(200)
  })

  test('erases text, history and reactions on deletion, by the author or with team:manage', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const { _id } = await channel.send('bob', 'a regrettable wombat', { clientId: 'w' })
    await world.as('bob').call(chat.editMessage, { ...on(channel, _id), body: { body: 'still a wombat' } })
    await world.as('cyd').call(chat.reactToMessage, on(channel, _id, { emoji: '🙈' }))
    await world.as('cyd').call(chat.editMessage, { ...on(channel, _id), body: { pinned: true } })
    expect((await world.as('cyd').call(chat.deleteMessage, on(channel, _id))).body.code).toBe('not_your_message')
    expect((await world.as('ada').call(chat.deleteMessage, on(channel, _id))).status).toBe(200)
    expect((await world.as('ada').call(chat.deleteMessage, on(channel, _id))).status).toBe(200)
    const { body } = await world.as('cyd').call(chat.listMessages, { path: channel.path, query: { history: true } })
    expect(body.data).toMatchObject([{ body: '', reactions: [], pinnedAt: null, history: [], author: world.id('bob') }])
    expect(body.data[0].deletedAt).toMatch(/Z$/)
    // The second deletion is not a change.
    expect(body.seq).toBe(6)
    for (const reply of [
      await world.as('bob').call(chat.editMessage, { ...on(channel, _id), body: { body: 'back' } }),
      await world.as('bob').call(chat.reactToMessage, on(channel, _id, { emoji: '👍' })),
      await channel.trySend('cyd', 'what was that?', { replyTo: _id }),
    ]) {
      expect([reply.status, reply.body.code]).toEqual([409, 'message_deleted'])
    }
    expect((await channel.trySend('bob', 'again', { clientId: 'w' })).body.data).toMatchObject({ _id, body: '' })
    const dump = await app.database.rows<{ text: string }>(
      'select row_to_json(l)::text as text from chat_log l union all select row_to_json(e)::text from chat_edits e',
    )
    expect(dump.filter(({ text }) => text.includes('wombat'))).toEqual([])
  })

  test('accepts one emoji per reaction, once per user, and ignores repetitions', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const { _id } = await channel.send('bob', 'react!')
    const react = (by: string, emoji: string) => world.as(by).call(chat.reactToMessage, on(channel, _id, { emoji }))
    for (const emoji of ['👍🏽', '👩‍👩‍👧', '🇩🇪', '❤️', '1️⃣']) expect((await react('ada', emoji)).status).toBe(200)
    for (const text of ['a', '👍👍', '1', ':)']) expect((await react('ada', text)).status).toBe(400)
    await Promise.all([react('bob', '👍🏽'), react('bob', '👍🏽'), react('cyd', '👍🏽')])
    const { body } = await react('bob', '👍🏽')
    const thumbs = (body.data.reactions as { emoji: string; userIds: string[] }[]).find(({ emoji }) => emoji === '👍🏽')
    expect(thumbs?.userIds).toHaveLength(3)
    const off = await world.as('ada').call(chat.unreactToMessage, on(channel, _id, { emoji: '👍🏽' }))
    expect(off.body.data.reactions[0]).toBeDefined()
    const top = (await world.as('ada').call(chat.getChannel, { path: channel.path })).body.data.seq
    expect(top).toBe(2 + 5 + 2 + 1)
    const more = Array.from('😀😁😂🤣😃😄😅😆😉😊😋😎😍😘🥰😗')
    const last = await Promise.all(more.map((emoji) => react('cyd', emoji)))
    expect(last.filter(({ status }) => status === 409).length).toBe(1)
  })

  test('lets every member who can write pin a message', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const { _id } = await channel.send('bob', 'pin me')
    await channel.send('bob', 'not me')
    const pin = (pinned: boolean) => world.as('cyd').call(chat.editMessage, { ...on(channel, _id), body: { pinned } })
    expect((await pin(true)).body.data).toMatchObject({ pinnedBy: world.id('cyd'), edits: 0 })
    const pinned = await world.as('bob').call(chat.listMessages, { path: channel.path, query: { pinned: true } })
    expect(pinned.body.data).toMatchObject([{ _id }])
    expect((await pin(false)).body.data.pinnedAt).toBeNull()
    const both = await world
      .as('bob')
      .call(chat.editMessage, { ...on(channel, _id), body: { pinned: true, body: 'and edited' } })
    expect([both.status, both.body.code]).toEqual([400, 'validation_failed'])
    const listed = await world.as('bob').call(chat.listMessages, { path: channel.path })
    expect(listed.body.data).toMatchObject([{ body: 'pin me', pinnedAt: null }, {}])
  })

  test('rejects a 51st pin in a channel, not counting deleted messages', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const names = ['ada', 'bob', 'cyd']
    const messages = await Promise.all(
      Array.from({ length: 51 }, (_, index) => channel.send(names[index % 3] ?? 'ada', `pin ${index}`)),
    )
    const pin = async (messageId: string) =>
      (await world.as('ada').call(chat.editMessage, { ...on(channel, messageId), body: { pinned: true } })).status
    const pinned = []
    for (let from = 0; from < 51; from += 17) {
      pinned.push(...(await Promise.all(messages.slice(from, from + 17).map(({ _id }) => pin(_id)))))
    }
    expect(pinned.toSorted((a, b) => a - b)).toEqual([...Array<number>(50).fill(200), 409])
    const left = messages[pinned.indexOf(409)]._id
    await world.as('ada').call(chat.deleteMessage, on(channel, messages[pinned.indexOf(200)]._id))
    expect(await pin(left)).toBe(200)
  })

  test('needs permission to mention a channel, and mentions only users who can see it', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada', { private: true, memberIds: [world.id('bob')] })
    const hers = await channel.send('ada', `<@${world.id('cyd')}> cannot see this, <@${world.id('bob')}> can`)
    expect(hers.mentions).toEqual({ userIds: [world.id('bob')], everyone: false })
    const his = await channel.send('bob', 'quietly')
    const edit = (by: string, messageId: string) =>
      world.as(by).call(chat.editMessage, { ...on(channel, messageId), body: { body: '<!channel> loudly' } })
    const refused = await edit('bob', his._id)
    expect([refused.status, refused.body.code]).toEqual([403, 'channel_mention_forbidden'])
    expect((await edit('ada', hers._id)).body.data.mentions).toEqual({ userIds: [], everyone: true })
    const dm = await world
      .as('bob')
      .call(chat.createChannel, { ...at(), body: { kind: 'dm', userIds: [world.id('cyd')] } })
    const both = new TestChannel(world, at().path.workspaceId, dm.body.data._id)
    expect((await both.send('bob', '<!channel> of two')).mentions.everyone).toBe(true)
  })

  test('stores text unchanged, and rejects NUL and lone surrogates', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    for (const body of [
      'a\u0000b',
      'half a \uD83D pair',
      'a\uFEFF\u202Eb',
      "'; drop table users; --",
      '{"$1": "\\"}',
      '𝄞'.repeat(4_000),
    ]) {
      const reply = await channel.trySend('bob', body)
      const isText = !body.includes('\u0000') && body.isWellFormed()
      expect([reply.status, reply.body.data?.body], JSON.stringify(body)).toEqual(
        isText ? [201, body] : [400, undefined],
      )
    }
  })
})

describe('reading', () => {
  test('counts the replies of a thread, and keeps replies to replies in it', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const root = await channel.send('ada', 'root')
    const first = await channel.send('bob', 'first', { replyTo: root._id })
    const second = await channel.send('cyd', 'second', { replyTo: first._id })
    expect(second.replyTo).toBe(root._id)
    await world.as('bob').call(chat.deleteMessage, on(channel, first._id))
    const thread = await world.as('ada').call(chat.listMessages, { path: channel.path, query: { replyTo: root._id } })
    expect(thread.body.data.map((message: { seq: number }) => message.seq)).toEqual([3, 4])
    const all = await world.as('ada').call(chat.listMessages, { path: channel.path })
    expect(all.body.data[0].thread).toMatchObject({ replyCount: 1, lastReplySeq: 4 })
  })

  test('lists messages before, after and around a number, in ascending order', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    for (let index = 2; index <= 11; index += 1) await channel.send('ada', `${index}`)
    const list = async (query: object) => {
      const { body } = await world.as('bob').call(chat.listMessages, { path: channel.path, query: { ...query } })
      return [body.data.map((message: { seq: number }) => message.seq), body.pagination.hasMore, body.seq]
    }
    expect(await list({ limit: 3 })).toEqual([[9, 10, 11], true, 11])
    expect(await list({ before: 5, limit: 3 })).toEqual([[2, 3, 4], false, 11])
    expect(await list({ after: 5, limit: 3 })).toEqual([[6, 7, 8], true, 11])
    expect(await list({ around: 6, limit: 4 })).toEqual([[4, 5, 6, 7], true, 11])
    expect(await list({ after: 11 })).toEqual([[], false, 11])
    expect(await list({ after: 8, limit: 3 })).toEqual([[9, 10, 11], false, 11])
    expect(await list({ around: 4, limit: 4 })).toEqual([[2, 3, 4, 5], false, 11])
    expect(await list({ around: 6, limit: 3 })).toEqual([[5, 6, 7], true, 11])
    const both = await world.as('bob').call(chat.listMessages, { path: channel.path, query: { before: 1, after: 2 } })
    expect([both.status, both.body.errors?.[0]?.path]).toEqual([400, '/query/after'])
  })

  test('continues lists in their direction, and limits their pages', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    for (let index = 2; index <= 9; index += 1) await channel.send('ada', `${index}`)
    const list = async (query: object) =>
      (await world.as('bob').call(chat.listMessages, { path: channel.path, query: { ...query } })).body
    const pages = async (query: object, limit: number) => {
      const found: number[][] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const { data, pagination } = await list({ limit, ...(cursor ? { cursor } : query) })
        found.push(data.map(({ seq }: { seq: number }) => seq))
        cursor = pagination.nextCursor as string | null
      }
      return found
    }
    expect(await pages({}, 4)).toEqual([
      [6, 7, 8, 9],
      [2, 3, 4, 5],
    ])
    expect(await pages({ after: 3 }, 4)).toEqual([
      [4, 5, 6, 7],
      [8, 9],
    ])
    expect(await pages({ around: 4 }, 1)).toEqual([[4], [3], [2]])
    expect(await pages({ around: 99 }, 2)).toEqual([[9], [7, 8], [5, 6], [3, 4], [2]])
    const limitOf = async (query: object) => (await list(query)).pagination.limit
    expect(await limitOf({})).toBe(30)
    expect(await limitOf({ history: true })).toBe(10)
    expect(await limitOf({ history: true, limit: 50 })).toBe(10)
    expect(await limitOf({ history: true, limit: 3 })).toBe(3)
    for (const cursor of ['nonsense', Buffer.from('around:4').toString('base64url')]) {
      expect((await list({ cursor })).code).toBe('validation_failed')
    }
  })

  test('counts unread messages and mentions per user, and never moves a read marker back', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const mark = async (body: object) =>
      (await world.as('bob').call(chat.markChannelRead, { path: channel.path, body })).body.data
    const counts = async (name: string) => {
      const { data } = (await world.as(name).call(chat.getChannel, { path: channel.path })).body
      return [data.unreadCount, data.mentionCount]
    }
    await channel.send('ada', `hello <@${world.id('bob')}> and <@01900000-0000-7000-8000-00000000dead>`)
    const toAll = await channel.send('ada', '<!channel> come in')
    expect(toAll.mentions).toEqual({ userIds: [], everyone: true })
    await channel.send('cyd', `me <@${world.id('cyd')}>`)
    expect([await counts('ada'), await counts('bob'), await counts('cyd')]).toEqual([
      [1, 0],
      [3, 2],
      [2, 1],
    ])
    expect(await mark({ muted: true })).toMatchObject({ readSeq: 0, muted: true, unreadCount: 3 })
    expect(await mark({ seq: 3 })).toMatchObject({ readSeq: 3, unreadCount: 1, mentionCount: 0, muted: true })
    expect(await mark({ seq: 2, muted: false })).toMatchObject({ readSeq: 3, muted: false })
    // A marker beyond the newest message stops at the newest.
    expect(await mark({ seq: 1_000_000 })).toMatchObject({ readSeq: 4, unreadCount: 0 })
    await channel.send('ada', `again <@${world.id('bob')}>`)
    const late = await channel.send('ada', `and <@${world.id('bob')}>`)
    expect(await counts('bob')).toEqual([2, 2])
    await world.as('ada').call(chat.deleteMessage, on(channel, late._id))
    expect(await counts('bob')).toEqual([1, 1])
    const { body } = await world.as('bob').call(chat.listChannels, { ...at(), query: { limit: 1 } })
    expect(body.data).toMatchObject([{ _id: channel.id, unreadCount: 1, lastMessage: { seq: 5 } }])
  })

  test('searches words and prefixes, by channel and author, with an escaped snippet', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    await channel.send('ada', 'The <b>quick</b> brown marmot & friends')
    await channel.send('bob', 'Quick marmots are "rare": https://marmots.example.com/all it\'s')
    const find = async (query: object) =>
      (await world.as('cyd').call(chat.searchMessages, { ...at(), query: { ...query } })).body
    expect((await find({ q: 'marmot quick' })).data).toHaveLength(1)
    const both = await find({ q: 'quick MARM' })
    expect(both.data.map(({ seq }: { seq: number }) => seq)).toEqual([3, 2])
    expect(both.data[1].snippet).toContain('&lt;b&gt;<mark>quick</mark>&lt;/b&gt; brown <mark>marmot</mark> &amp;')
    expect((await find({ q: 'quick', from: world.id('bob') })).data).toHaveLength(1)
    expect((await find({ q: "quick' | !nothing:* & (" })).status).toBe(true)
    expect((await find({ q: "it's (rare)" })).data).toHaveLength(1)
    expect((await find({ q: 'https://marmots.example.com/all' })).data).toHaveLength(1)
    expect((await find({ q: '&|!()' })).data).toEqual([])
    const page = await find({ q: 'quick', channelId: channel.id, limit: 1 })
    expect(page.pagination.hasMore).toBe(true)
    const next = await find({ q: 'quick', limit: 1, cursor: page.pagination.nextCursor })
    expect(next.data[0].seq).toBe(2)
    // Search finds the current text only, and no deleted messages.
    const ocelot = await channel.send('ada', 'an ocelot')
    expect((await find({ q: 'ocelot' })).data).toHaveLength(1)
    await world.as('ada').call(chat.editMessage, { ...on(channel, ocelot._id), body: { body: 'a serval' } })
    expect([(await find({ q: 'ocelot' })).data, (await find({ q: 'serval' })).data.length]).toEqual([[], 1])
    await world.as('ada').call(chat.deleteMessage, on(channel, ocelot._id))
    expect((await find({ q: 'serval' })).data).toEqual([])
  })
})

test('limits a user to 5 messages a second per channel, in bursts of 10, over REST and sockets together', async () => {
  const clock = new ManualClock()
  const limited = await startApp({ clock, rateLimits: true })
  const sockets = new Sockets(() => limited)
  try {
    const there = new World(limited)
    await there.user('ada', { plan: 'business' })
    await there.workspace('acme', 'ada')
    await there.member('acme', 'bob')
    const channel = await TestChannel.make(there, 'acme', 'ada')
    const { socket } = await sockets.connect(there.key('ada'))
    const call = async (where: TestChannel, body: string) => {
      const message = { operation: 'sendMessage', path: where.path, body: { body } }
      return (await socket.timeout(10_000).emitWithAck('call', message)) as {
        readonly status: number
        readonly headers: Record<string, string>
        readonly body: { readonly code?: string }
      }
    }
    const burst = async (by: string, count: number) => {
      const replies = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          by === 'ada' && index % 2 === 0 ? call(channel, `${index}`) : channel.trySend(by, `${index}`),
        ),
      )
      return replies.filter(({ status }) => status === 201).length
    }
    expect(await burst('ada', 12)).toBe(10)
    const refused = await channel.trySend('ada', 'more')
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '1'])
    expect(await call(channel, 'more')).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      body: { code: 'rate_limited', message: refused.body.message },
    })
    expect(await burst('bob', 3)).toBe(3)
    clock.advance(1_000)
    expect(await burst('ada', 8)).toBe(5)
    const other = await TestChannel.make(there, 'acme', 'ada')
    expect((await other.trySend('ada', 'elsewhere')).status).toBe(201)
    expect((await call(other, 'elsewhere')).status).toBe(201)
  } finally {
    sockets.end()
    await limited.stop()
  }
})
