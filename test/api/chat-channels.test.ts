import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as chat from '../../src/domains/talk/chat/operations.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import * as team from '../../src/domains/workspace/team/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
const at = () => ({ path: { workspaceId: world.id('acme') } })

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  for (const name of ['bob', 'cyd', 'dan', 'eve']) await world.member('acme', name)
  await world.member('acme', 'eve', { scopes: ['chat:read', 'team:read'] })
})
afterAll(() => app?.stop())

describe('channels', () => {
  test('have unique names, ignoring case, even with concurrent requests', async () => {
    const make = (by: string, name: string) =>
      world.as(by).call(chat.createChannel, { ...at(), body: { kind: 'channel', name } })
    const replies = await Promise.all(['Launch', 'LAUNCH', 'launch'].map((name) => make('ada', name)))
    expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
    expect(replies.find((reply) => reply.status === 409)?.body.code).toBe('channel_name_taken')
    const other = await TestChannel.make(world, 'acme', 'bob', { name: 'Press' })
    const renamed = await world.as('bob').call(chat.updateChannel, { path: other.path, body: { name: 'lauNch' } })
    expect(renamed.body.code).toBe('channel_name_taken')
    const same = await world.as('bob').call(chat.updateChannel, { path: other.path, body: { name: 'PRESS' } })
    expect([same.status, same.body.data.name]).toEqual([200, 'PRESS'])
  })

  test('reject fields of the other kind and users outside the workspace', async () => {
    const outsider = await world.user('outsider')
    for (const [body, path] of [
      [{ kind: 'channel' }, '/body/name'],
      [{ kind: 'channel', name: 'x', memberIds: [world.id('bob')] }, '/body/memberIds'],
      [{ kind: 'channel', name: 'x', userIds: [world.id('bob')] }, '/body/userIds'],
      [{ kind: 'channel', name: 'x', private: true, memberIds: [outsider.id] }, '/body/memberIds/0'],
      [{ kind: 'dm', userIds: [world.id('ada')] }, '/body/userIds'],
      [{ kind: 'dm', name: 'x', userIds: [world.id('bob')] }, '/body/name'],
      [{ kind: 'dm', topic: 'x', userIds: [world.id('bob')] }, '/body/topic'],
      [{ kind: 'dm', private: true, userIds: [world.id('bob')] }, '/body/private'],
      [{ kind: 'dm', memberIds: [], userIds: [world.id('bob')] }, '/body/memberIds'],
      [{ kind: 'dm', userIds: [outsider.id] }, '/body/userIds/0'],
      [{ kind: 'dm', userIds: [world.id('bob'), outsider.id] }, '/body/userIds/1'],
    ] as const) {
      const reply = await world.as('ada').call(chat.createChannel, { ...at(), body })
      expect([reply.status, reply.body.errors?.[0]?.path]).toEqual([400, path])
    }
  })

  test('have at most 500 members, and direct conversations at most 8 others', async () => {
    const unknown = (count: number) => Array.from({ length: count }, () => uuidv7(Date.now()))
    const make = async (body: object) => {
      const reply = await world.as('ada').call(chat.createChannel, { ...at(), body })
      return [reply.status, reply.body.errors?.[0]?.path]
    }
    const many = (count: number) => make({ kind: 'channel', name: 'x', private: true, memberIds: unknown(count) })
    // The caller is a member, too. A list that is short enough fails only because it names nobody.
    expect(await many(500)).toEqual([409, undefined])
    expect(await many(499)).toEqual([400, '/body/memberIds/0'])
    expect(await make({ kind: 'dm', userIds: unknown(9) })).toEqual([400, '/body/userIds'])
    expect(await make({ kind: 'dm', userIds: unknown(8) })).toEqual([400, '/body/userIds/0'])
  })

  test('have a topic and a version, and are read as they were written', async () => {
    const body = { kind: 'channel', name: 'Weather', topic: 'Rain' }
    const made = await world.as('ada').call(chat.createChannel, { ...at(), body })
    expect(made.body.data).toMatchObject({ name: 'Weather', topic: 'Rain', private: false, memberIds: [], version: 1 })
    const path = { ...at().path, channelId: made.body.data._id as string }
    const read = async () => (await world.as('bob').call(chat.getChannel, { path })).body.data
    expect(await read()).toMatchObject({ ...made.body.data, seq: 1 })
    const change = (changes: object) => world.as('bob').call(chat.updateChannel, { path, body: changes })
    const renamed = await change({ name: 'Climate' })
    expect(renamed.body.data).toMatchObject({ name: 'Climate', topic: 'Rain', version: 2 })
    expect((await change({ topic: '' })).body.data).toMatchObject({ name: 'Climate', topic: null, version: 3 })
    const unnamed = await change({ name: null })
    expect([unnamed.status, unnamed.body.errors?.[0]?.path]).toEqual([400, '/body/name'])
    const archived = await change({ archived: true, topic: 'Old' })
    expect(await read()).toMatchObject(archived.body.data)
    // An archived channel can be archived again, with what it has, at its first time.
    const again = await change({ archived: true, name: 'Climate', topic: 'Old' })
    expect(again.body.data).toMatchObject({ archivedAt: archived.body.data.archivedAt, topic: 'Old', version: 5 })
    for (const edit of [{ name: 'Sky' }, { topic: 'Clouds' }, { archived: true, topic: null }]) {
      expect((await change(edit)).body.code).toBe('channel_archived')
    }
    expect((await change({ archived: false, name: 'Sky' })).body.data).toMatchObject({ archivedAt: null, name: 'Sky' })
    const plain = await TestChannel.make(world, 'acme', 'ada')
    expect((await world.as('ada').call(chat.getChannel, { path: plain.path })).body.data.topic).toBeNull()
  })

  test('are read-only while archived', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    const message = await channel.send('bob', 'before', { clientId: 'kept' })
    const change = (body: object) => world.as('bob').call(chat.updateChannel, { path: channel.path, body })
    expect((await change({ archived: true })).body.data.archivedAt).toMatch(/Z$/)
    const place = { path: { ...channel.path, messageId: message._id } }
    const refused = [
      await channel.trySend('bob', 'after'),
      await change({ topic: 'no' }),
      await world.as('bob').call(chat.editMessage, { ...place, body: { body: 'no' } }),
      await world.as('bob').call(chat.deleteMessage, place),
      await world.as('bob').call(chat.reactToMessage, { path: { ...place.path, emoji: '👍' } }),
    ]
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(refused.map(() => [409, 'channel_archived']))
    // A repeated clientId still gets its first reply.
    expect((await channel.trySend('bob', 'before', { clientId: 'kept' })).body.data.seq).toBe(message.seq)
    expect((await world.as('eve').call(chat.listMessages, { path: channel.path })).body.data).toHaveLength(1)
    expect((await change({ archived: false, topic: 'again' })).body.data).toMatchObject({
      archivedAt: null,
      topic: 'again',
    })
    expect((await channel.trySend('bob', 'after')).status).toBe(201)
  })

  test('delete their messages, search results included', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada')
    await channel.send('bob', 'soon gone xylophone')
    expect((await world.as('bob').call(chat.deleteChannel, { path: channel.path })).status).toBe(403)
    expect((await world.as('ada').call(chat.deleteChannel, { path: channel.path })).status).toBe(200)
    expect((await channel.trySend('bob', 'too late')).body.code).toBe('not_found')
    const found = await world.as('ada').call(chat.searchMessages, { ...at(), query: { q: 'xylophone' } })
    expect(found.body.data).toEqual([])
  })
})

describe('direct conversations', () => {
  const open = (by: string, ...others: string[]) =>
    world.as(by).call(chat.createChannel, {
      ...at(),
      body: { kind: 'dm', userIds: others.map((name) => world.id(name)) },
    })

  test('exist once for a set of users in any order, even with concurrent requests', async () => {
    const replies = await Promise.all([
      open('ada', 'bob', 'cyd'),
      open('bob', 'cyd', 'ada'),
      open('cyd', 'ada', 'bob', 'cyd'),
      open('ada', 'cyd', 'bob'),
    ])
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 201])
    expect(new Set(replies.map(({ body }) => body.data._id)).size).toBe(1)
    expect((await open('ada', 'bob')).body.data._id).not.toBe(replies[0]?.body.data._id)
    const opened = replies.find(({ status }) => status === 201)?.body.data
    expect(opened).toMatchObject({ kind: 'dm', private: true, name: null, topic: null })
    // To open it again is no change.
    const path = { ...at().path, channelId: opened._id as string }
    expect((await world.as('bob').call(chat.getChannel, { path })).body.data).toMatchObject({ ...opened, seq: 1 })
    const rows = await app.database.rows('select id from channels where kind = $1', ['dm'])
    expect(rows).toHaveLength(2)
  })

  test('are visible to their members only, and cannot be changed or deleted', async () => {
    const { body } = await open('ada', 'dan')
    const path = { ...at().path, channelId: body.data._id as string }
    expect((await world.as('bob').call(chat.getChannel, { path })).status).toBe(404)
    for (const [operation, more] of [
      [chat.updateChannel, { body: { topic: 'x' } }],
      [chat.deleteChannel, {}],
      [chat.addChannelMembers, { body: { userIds: [world.id('bob')] } }],
    ] as const) {
      const reply = await world.as('ada').call(operation, { path, ...more })
      expect([reply.status, reply.body.code]).toEqual([409, 'wrong_channel_kind'])
    }
  })
})

describe('private channels', () => {
  test('return 404 to non-members for every operation', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada', { private: true, memberIds: [world.id('bob')] })
    const message = await channel.send('bob', 'a secret zeppelin')
    const hidden = { path: { ...channel.path, messageId: message._id, emoji: '👍', userId: world.id('bob') } }
    const nowhere = { path: { ...hidden.path, channelId: '01900000-0000-7000-8000-00000000dead' } }
    for (const [operation, body] of [
      [chat.getChannel, undefined],
      [chat.listMessages, undefined],
      [chat.syncChannel, undefined],
      [chat.sendMessage, { body: 'hello?' }],
      [chat.editMessage, { body: 'hello?' }],
      [chat.deleteMessage, undefined],
      [chat.reactToMessage, undefined],
      [chat.unreactToMessage, undefined],
      [chat.markChannelRead, { seq: 1 }],
      [chat.updateChannel, { topic: 'mine' }],
      [chat.addChannelMembers, { userIds: [world.id('cyd')] }],
      [chat.removeChannelMember, undefined],
    ] as const) {
      const query = operation === chat.syncChannel ? { after: 0 } : {}
      const parameters = [...operation.route.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
      const only = (path: Record<string, string>) =>
        Object.fromEntries(parameters.map((name) => [name, path[name] ?? '']))
      const sent = (path: Record<string, string>) =>
        world.as('cyd').call(operation, { path: only(path), query, ...(body && { body }) })
      const [one, other] = [await sent(hidden.path), await sent(nowhere.path)]
      expect([one.status, one.body.message]).toEqual([404, other.body.message])
    }
    const listed = await world.as('cyd').call(chat.listChannels, { ...at(), query: { limit: 100 } })
    expect((listed.body.data as { _id: string }[]).some(({ _id }) => _id === channel.id)).toBe(false)
    const found = await world.as('cyd').call(chat.searchMessages, { ...at(), query: { q: 'zeppelin' } })
    expect(found.body.data).toEqual([])
    expect((await world.as('ada').call(chat.searchMessages, { ...at(), query: { q: 'zep' } })).body.data).toHaveLength(
      1,
    )
  })

  test('allow adding and removing members, except the last one', async () => {
    const channel = await TestChannel.make(world, 'acme', 'ada', { private: true, memberIds: [world.id('bob')] })
    const add = (by: string, name: string) =>
      world.as(by).call(chat.addChannelMembers, { path: channel.path, body: { userIds: [world.id(name)] } })
    const remove = (by: string, name: string) =>
      world.as(by).call(chat.removeChannelMember, { path: { ...channel.path, userId: world.id(name) } })
    expect((await add('bob', 'cyd')).body.data.memberIds).toHaveLength(3)
    expect((await add('bob', 'cyd')).body.data.memberIds).toHaveLength(3)
    expect((await add('bob', 'outsider')).body.errors).toMatchObject([{ path: '/body/userIds/0' }])
    expect((await remove('cyd', 'bob')).status).toBe(403)
    expect((await remove('ada', 'cyd')).status).toBe(200)
    expect((await channel.trySend('cyd', 'hello?')).status).toBe(404)
    expect((await remove('ada', 'ada')).status).toBe(200)
    expect((await remove('bob', 'bob')).body.code).toBe('conflict')
  })

  test('are logged with their author, and announced to members who can see the channel', async () => {
    const [ada, bob, cyd] = [world.id('ada'), world.id('bob'), world.id('cyd')]
    const count = async (table: string) =>
      (await app.database.row<{ n: number }>(`select count(*)::int as n from ${table}`))?.n ?? 0
    const [events, entries] = [await count('workspace_events'), await count('audit_log')]
    const channel = await TestChannel.make(world, 'acme', 'ada', { name: 'Vault', private: true, memberIds: [bob] })
    await world.as('ada').call(chat.addChannelMembers, { path: channel.path, body: { userIds: [cyd] } })
    await world.as('ada').call(chat.updateChannel, { path: channel.path, body: { topic: 'Gold' } })
    await world.as('ada').call(chat.removeChannelMember, { path: { ...channel.path, userId: cyd } })
    const message = await channel.send('bob', 'mine')
    const own = await channel.send('ada', 'hers')
    const place = { path: { ...channel.path, messageId: message._id } }
    await world.as('bob').call(chat.editMessage, { ...place, body: { body: 'still mine' } })
    await world.as('bob').call(chat.reactToMessage, { path: { ...place.path, emoji: '👍' } })
    await world.as('bob').call(chat.unreactToMessage, { path: { ...place.path, emoji: '👍' } })
    await world.as('bob').call(chat.markChannelRead, { path: channel.path, body: { seq: 1 } })
    for (const { _id } of [message, own]) {
      await world.as('ada').call(chat.deleteMessage, { path: { ...channel.path, messageId: _id } })
    }
    await world.as('ada').call(chat.deleteChannel, { path: channel.path })
    const emitted = await app.database.rows<{ type: string; channel_id: string | null; user_id: string | null }>(
      'select type, channel_id, user_id from workspace_events order by at, seq offset $1',
      [events],
    )
    expect(emitted.map(({ channel_id, type, user_id }) => [type, channel_id, user_id])).toEqual([
      ['channel.created', channel.id, null],
      ['channel.updated', channel.id, null],
      ['channel.created', null, cyd],
      ['channel.updated', channel.id, null],
      ['channel.left', null, cyd],
      ['channel.updated', channel.id, null],
      ['channel.deleted', null, ada],
      ['channel.deleted', null, bob],
    ])
    const audited = await app.database.rows<{ action: string; target_id: string; details: unknown }>(
      'select action, target_id, details from audit_log order by created_at, id offset $1',
      [entries],
    )
    expect(audited.map(({ action, details, target_id }) => [action, target_id, details])).toEqual([
      ['createChannel', channel.id, { name: 'Vault', private: true }],
      ['addChannelMembers', channel.id, { added: [cyd] }],
      ['updateChannel', channel.id, { topic: 'Gold' }],
      ['removeChannelMember', channel.id, { removed: cyd }],
      // Of messages, only a deletion by somebody else is logged.
      ['deleteMessage', message._id, { channelId: channel.id, author: bob }],
      ['deleteChannel', channel.id, { name: 'Vault' }],
    ])
  })

  test('lose members who leave the workspace; a direct conversation returns with its user', async () => {
    await world.member('acme', 'fay')
    const channel = await TestChannel.make(world, 'acme', 'ada', { private: true, memberIds: [world.id('fay')] })
    const dm = { ...at(), body: { kind: 'dm', userIds: [world.id('fay')] } }
    const before = await world.as('ada').call(chat.createChannel, dm)
    const gone = await world.as('ada').call(team.removeMember, {
      path: { ...at().path, userId: world.id('fay') },
    })
    expect(gone.status).toBe(200)
    const { body } = await world.as('ada').call(chat.syncChannel, { path: channel.path, query: { after: 1 } })
    expect(body.data.changes).toMatchObject([{ seq: 2, type: 'members', data: { removed: [world.id('fay')] } }])
    await world.member('acme', 'fay')
    expect((await channel.trySend('fay', 'am I in?')).status).toBe(404)
    const again = await world.as('ada').call(chat.createChannel, dm)
    expect([again.status, again.body.data._id]).toEqual([200, before.body.data._id])
    expect(again.body.data.memberIds).toHaveLength(2)
    expect(
      (await new TestChannel(world, at().path.workspaceId, again.body.data._id).trySend('fay', 'back')).status,
    ).toBe(201)
  })
})
