import { Client } from 'pg'
import { io, type Socket } from 'socket.io-client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createStream } from '../../src/domains/live/streams/operations.ts'
import * as team from '../../src/domains/workspace/team/operations.ts'
import { getWorkspace } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { newAddress } from '../support/people.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import type { Reply } from '../support/send.ts'
import { invitationToken } from '../support/team.ts'
import { waitFor } from '../support/wait.ts'
import { ApiCaller, World } from '../support/world.ts'

/**
 * Two nodes with one database and one Redis. Changes on one node take effect on the other. Caches expire after 30 s, so
 * an effect within 20 seconds shows that the notice arrived.
 */

const SOON = { timeoutMs: 20_000 }
let redis: TestRedis
let here: App
let there: App
let world: World
const sockets: Socket[] = []

beforeAll(async () => {
  redis = await startRedis()
  here = await startApp({ redisUrl: redis.url })
  // Both nodes already share the queues.
  expect(here.node.resources.jobStore.kind).toBe('redis')
  there = await startApp({ redisUrl: redis.url, databaseUrl: here.databaseUrl })
  world = new World(here)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  for (const name of ['edith', 'rob', 'gus', 'liz']) await world.member('acme', name, { role: 'client' })
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.disconnect()
})
afterAll(async () => {
  await there?.stop()
  await here?.stop()
  await redis?.stop()
})

const at = () => ({ path: { workspaceId: world.id('acme') } })
const who = (name: string) => ({ path: { ...at().path, userId: world.id(name) } })

async function overThere(name: string): Promise<ApiCaller> {
  return new ApiCaller(there, { apiKey: (await world.user(name)).apiKey })
}

async function scopesThere(name: string): Promise<string[]> {
  const { status, body } = await (await overThere(name)).call(getWorkspace, at())
  return status === 200 ? body.data.scopes : [`${status}`]
}

async function listenThere(name: string): Promise<{ names: string[] }> {
  const { apiKey } = await world.user(name)
  const socket = io(there.url, { auth: { token: apiKey }, forceNew: true, transports: ['websocket'] })
  sockets.push(socket)
  const names: string[] = []
  socket.onAny((event: string) => names.push(event))
  await waitFor(() => socket.connected)
  return { names }
}

const change = (name: string, body: object) => world.as('ada').call(team.updateMember, { ...who(name), body })
const expectSuccess = (reply: Reply) => expect(reply.status, reply.text).toBeLessThan(300)

test('changes of a role, an override, a group and a custom role take effect on the other node', async () => {
  expect(await scopesThere('edith')).not.toContain('posts:write')
  expectSuccess(await change('edith', { role: 'editor' }))
  await waitFor(async () => (await scopesThere('edith')).includes('posts:write'), SOON)
  expectSuccess(await change('edith', { scopes: ['team:read'] }))
  await waitFor(async () => (await scopesThere('edith')).join() === 'team:read', SOON)

  const group = { name: 'On air', memberIds: [world.id('edith')], scopes: ['billing:manage'] }
  const made = await world.as('ada').call(team.createGroup, { ...at(), body: group })
  expectSuccess(made)
  await waitFor(async () => (await scopesThere('edith')).includes('billing:manage'), SOON)
  expectSuccess(await world.as('ada').call(team.deleteGroup, { path: { ...at().path, id: made.body.data._id } }))
  await waitFor(async () => (await scopesThere('edith')).join() === 'team:read', SOON)

  const own = await world.as('ada').call(team.createRole, { ...at(), body: { name: 'Own', scopes: ['team:read'] } })
  expectSuccess(await change('edith', { roleId: own.body.data._id, scopes: null }))
  await waitFor(async () => (await scopesThere('edith')).join() === 'team:read', SOON)
  const path = { ...at().path, id: own.body.data._id as string }
  expectSuccess(await world.as('ada').call(team.updateRole, { path, body: { scopes: ['team:read', 'ai:use'] } }))
  await waitFor(async () => (await scopesThere('edith')).includes('ai:use'), SOON)
})

test('a removed member gets no replies and no events on the other node', async () => {
  expect(await scopesThere('rob')).toContain('team:read')
  const rob = await listenThere('rob')
  const liz = await listenThere('liz')
  expectSuccess(await change('gus', { role: 'contributor' }))
  await waitFor(() => rob.names.includes('member.updated') && liz.names.includes('member.updated'), SOON)
  expectSuccess(await world.as('ada').call(team.removeMember, who('rob')))
  await waitFor(async () => (await scopesThere('rob')).join() === '404', SOON)
  await waitFor(() => liz.names.includes('member.removed'), SOON)
  const countBefore = rob.names.length
  expectSuccess(await change('gus', { role: 'client' }))
  await waitFor(() => liz.names.filter((name) => name === 'member.updated').length === 2, SOON)
  expect(rob.names.length).toBe(countBefore)
})

test('removing a scope stops its events on open sockets of the other node, and granting it starts them', async () => {
  expectSuccess(await change('gus', { role: 'admin' }))
  const gus = await listenThere('gus')
  const ada = await listenThere('ada')
  const invite = async () => {
    const email = newAddress()
    const sent = ada.names.filter((name) => name === 'invitation.created').length
    expectSuccess(await world.as('ada').call(team.inviteMember, { ...at(), body: { email, role: 'client' } }))
    await waitFor(() => ada.names.filter((name) => name === 'invitation.created').length === sent + 1, SOON)
  }
  await invite()
  await waitFor(() => gus.names.includes('invitation.created'), SOON)
  expectSuccess(await change('gus', { role: 'client' }))
  await waitFor(() => gus.names.includes('member.updated'), SOON)
  await waitFor(async () => !(await scopesThere('gus')).includes('team:manage'), SOON)
  await invite()
  // Both receive this event, so the invitation before it would have arrived.
  expectSuccess(await change('edith', { role: 'client' }))
  await waitFor(() => gus.names.filter((name) => name === 'member.updated').length === 2, SOON)
  expect(gus.names.filter((name) => name === 'invitation.created')).toHaveLength(1)
  expectSuccess(await change('gus', { role: 'admin' }))
  await waitFor(async () => (await scopesThere('gus')).includes('team:manage'), SOON)
  await invite()
  await waitFor(() => gus.names.filter((name) => name === 'invitation.created').length === 2, SOON)
})

test('an invitation from one node can be accepted on the other, and the open socket there receives events', async () => {
  const { email } = await world.user('nora')
  expectSuccess(await world.as('ada').call(team.inviteMember, { ...at(), body: { email, role: 'client' } }))
  const nora = await listenThere('nora')
  const token = await invitationToken([here, there], email)
  const caller = await overThere('nora')
  const accepted = await Promise.all([
    caller.call(team.acceptInvitation, { path: { token } }),
    world.as('nora').call(team.acceptInvitation, { path: { token } }),
  ])
  expect(accepted.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([200, 409])
  await waitFor(async () => {
    expectSuccess(await change('edith', { role: 'client' }))
    return nora.names.includes('member.updated')
  }, SOON)
})

test('two nodes never assign the same seat twice', async () => {
  await world.workspace('small', 'fred')
  const path = { workspaceId: world.id('small') }
  const fredThere = await overThere('fred')
  const callers = [world.as('fred'), fredThere]
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      (callers[index % 2] as ApiCaller).call(team.inviteMember, {
        path,
        body: { email: newAddress(), role: 'client' },
      }),
    ),
  )
  const count = (status: number) => replies.filter((reply) => reply.status === status).length
  expect([count(201), count(402)]).toEqual([4, 8])
})

/** Locks the row of the workspace's actor. No batch can commit until `release`, so authorized requests wait. */
async function holdActor(): Promise<{ waiting: () => number; release: () => Promise<void> }> {
  const holder = new Client({ connectionString: here.databaseUrl })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select 1 from actor_fence where key = $1 for update', [`ws:${world.id('acme')}`])
  return {
    waiting: () =>
      [here, there].reduce((sum, app) => {
        const { cluster, waiting } = app.composition.actors.stats()
        return sum + waiting - (cluster?.links.reduce((open, link) => open + link.inFlight, 0) ?? 0)
      }, 0),
    release: async () => {
      await holder.query('rollback')
      await holder.end()
    },
  }
}

describe.each([
  ['in the same batch as', false],
  ['in a later batch than', true],
])('a turn that waits %s a change of its caller', (_when, alone) => {
  test.each([
    ['removal', 404, 'not_found', (name: string) => world.as('ada').call(team.removeMember, who(name))],
    ['demotion', 403, 'forbidden', (name: string) => change(name, { role: 'client' })],
  ])('is refused after the %s, on both nodes', async (what, status, code, act) => {
    for (const [index, node] of [here, there].entries()) {
      const name = `waiting${index}${alone}${status}`
      const title = `Too late for ${what}`
      await world.member('acme', name, { role: 'editor' })
      const caller = new ApiCaller(node, { apiKey: (await world.user(name)).apiKey })
      const create = (as: string) => caller.call(createStream, { body: { workspaceId: world.id('acme'), title: as } })
      expect((await create('Before')).status).toBe(201)
      const { release, waiting } = await holdActor()
      const held = alone ? [] : [change('liz', { role: 'client' })]
      if (!alone) await waitFor(() => waiting() === 1)
      const acted = act(name)
      await waitFor(() => waiting() === held.length + 1)
      const created = create(title)
      await waitFor(() => waiting() === held.length + 2)
      await release()
      const replies = await Promise.all([acted, created, ...held])
      expect(replies.map((reply) => reply.status)).toEqual([200, status, ...held.map(() => 200)])
      expect(replies[1]?.body.code).toBe(code)
      expect(await here.database.rows('select 1 from streams where title = $1', [title])).toEqual([])
    }
  })
})
