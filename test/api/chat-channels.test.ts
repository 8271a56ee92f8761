import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as chat from '../../src/domains/talk/chat/operations.ts'
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
      [{ kind: 'channel', name: 'x', private: true, memberIds: [outsider.id] }, '/body/memberIds/0'],
      [{ kind: 'dm', userIds: [world.id('ada')] }, '/body/userIds'],
      [{ kind: 'dm', name: 'x', userIds: [world.id('bob')] }, '/body/name'],
      [{ kind: 'dm', userIds: [outsider.id] }, '/body/userIds/0'],
    ] as const) {
      const reply = await world.as('ada').call(chat.createChannel, { ...at(), body })
      expect([reply.status, reply.body.errors?.[0]?.path]).toEqual([400, path])
    }
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
    expect((await remove('cyd', 'bob')).status).toBe(403)
    expect((await remove('ada', 'cyd')).status).toBe(200)
    expect((await channel.trySend('cyd', 'hello?')).status).toBe(404)
    expect((await remove('ada', 'ada')).status).toBe(200)
    expect((await remove('bob', 'bob')).body.code).toBe('conflict')
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
