import { afterAll, beforeAll, expect, test } from 'vitest'
import { PLANS } from '../../src/domains/money/plans/plans.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

/** The plan limits how many of each resource a workspace can have. */

const BOUND = 3
const COUNTED = [
  'streams',
  'rtmpDestinations',
  'folders',
  'openUploads',
  'tags',
  'channels',
  'groups',
  'roles',
] as const
const usual = { ...PLANS.free.limits }
let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.workspace('other', 'ada')
  // Small limits keep the test fast.
  const limits = [...COUNTED, 'directConversations'].map((name) => [name, BOUND])
  Object.assign(PLANS.free.limits, Object.fromEntries(limits))
})
afterAll(async () => {
  Object.assign(PLANS.free.limits, usual)
  await app?.stop()
})

/** How to create one more, and delete it. */
interface Maker {
  readonly make: string
  readonly body: (n: number) => object
  readonly file?: { readonly name: string; readonly content: Uint8Array<ArrayBuffer> }
  readonly unmake: string
}

const MAKERS: Record<(typeof COUNTED)[number], Maker> = {
  streams: { make: 'POST /api/streams', body: (n) => ({ title: `S${n}` }), unmake: 'DELETE /api/streams/{id}' },
  rtmpDestinations: {
    make: 'POST /api/streams/rtmp-destinations',
    body: (n) => ({ name: `D${n}`, url: 'rtmp://live.example.com/app', streamKey: 'abcd-efgh' }),
    unmake: 'DELETE /api/streams/rtmp-destinations/{id}',
  },
  folders: {
    make: 'POST /api/assets/folders',
    body: (n) => ({ name: `F${n}` }),
    unmake: 'DELETE /api/assets/folders/{id}',
  },
  openUploads: {
    make: 'POST /api/assets/signed-upload',
    body: (n) => ({ name: `${n}.png`, size: PIXEL.length, type: 'image/png' }),
    unmake: 'DELETE /api/uploads/{uploadId}',
  },
  tags: {
    make: 'POST /api/assets/upload',
    body: (n) => ({ tags: [`t${n}`] }),
    file: { name: 'pixel.png', content: new Uint8Array(PIXEL) },
    unmake: 'DELETE /api/assets/{id}',
  },
  channels: {
    make: 'POST /api/team/{workspaceId}/channels',
    body: (n) => ({ kind: 'channel', name: `c${n}` }),
    unmake: 'DELETE /api/team/{workspaceId}/channels/{channelId}',
  },
  groups: {
    make: 'POST /api/team/{workspaceId}/groups',
    body: (n) => ({ name: `G${n}`, memberIds: [] }),
    unmake: 'DELETE /api/team/{workspaceId}/groups/{id}',
  },
  roles: {
    make: 'POST /api/team/{workspaceId}/roles',
    body: (n) => ({ name: `R${n}`, scopes: [] }),
    unmake: 'DELETE /api/team/{workspaceId}/roles/{id}',
  },
}

test.each(COUNTED)('enforces the plan limit on %s, even with concurrent requests', async (limit) => {
  const { body, file, make, unmake } = MAKERS[limit]
  const isInPath = make.includes('{workspaceId}')
  const create = (n: number, workspace = 'acme') => {
    const workspaceId = world.id(workspace)
    const fields = isInPath ? body(n) : { workspaceId, ...body(n) }
    return world
      .as('ada')
      .call(make, { ...(isInPath && { path: { workspaceId } }), ...(file && { file }), body: fields })
  }
  const replies = await Promise.all(Array.from({ length: BOUND + 3 }, (_, n) => create(n)))
  const made = replies.filter(({ status }) => status === 201)
  expect(made, replies.map(({ text }) => text).join()).toHaveLength(BOUND)
  const refused = replies.filter(({ status }) => status !== 201)
  for (const { body: error, status } of refused) {
    expect([status, error.code]).toEqual([402, 'plan_limit_reached'])
    expect(error.details).toEqual({ limit, value: BOUND, used: BOUND, plan: 'free' })
    expect(error.message).toContain(`allows ${BOUND} `)
  }
  // Limits apply per workspace. Deleting one allows another.
  expect((await create(0, 'other')).status).toBe(201)
  const [name = 'id'] = [...unmake.matchAll(/\{(?!workspaceId)(\w+)\}/g)].map((match) => match[1])
  const { _id, uploadId } = made[0]!.body.data as { _id: string; uploadId?: string }
  const path = { ...(isInPath && { workspaceId: world.id('acme') }), [name]: uploadId ?? _id }
  expect((await world.as('ada').call(unmake, { path })).status).toBe(200)
  expect((await create(100)).status).toBe(201)
  expect((await create(101)).status).toBe(402)
})

test('applies the plan of a new payer at once', async () => {
  await world.user('grace', { plan: 'business' })
  await world.workspace('sold', 'ada')
  await world.member('sold', 'grace', { role: 'owner' })
  const workspaceId = world.id('sold')
  const create = () => world.as('grace').call('POST /api/streams', { body: { workspaceId, title: 'S' } })
  for (let n = 0; n < BOUND; n += 1) expect((await create()).status).toBe(201)
  expect((await create()).status).toBe(402)
  const path = { workspaceId, userId: world.id('ada') }
  expect((await world.as('ada').call('DELETE /api/team/{workspaceId}/members/{userId}', { path })).status).toBe(200)
  expect((await create()).status).toBe(201)
})

test('enforces the plan limit on new tags in every operation, and allows existing tags', async () => {
  await world.workspace('tagged', 'tara')
  const tara = world.as('tara')
  const workspaceId = world.id('tagged')
  const upload = (tags: string[]) =>
    tara.call('POST /api/assets/upload', {
      body: { workspaceId, tags },
      file: { name: 'pixel.png', content: new Uint8Array(PIXEL) },
    })
  expect((await upload(['a', 'b', 'c', 'd'])).body.details).toMatchObject({ limit: 'tags', used: 0 })
  const first = await upload(['a', 'b'])
  const { _id } = (await upload(['b', 'c'])).body.data
  const edit = (body: object) => tara.call('PATCH /api/assets/{id}', { path: { id: _id }, body })
  expect((await edit({ tags: ['d'] })).status).toBe(402)
  expect((await edit({ tags: ['a', 'c'] })).status).toBe(200)
  const open = (tags: string[]) =>
    tara.call('POST /api/assets/signed-upload', {
      body: { workspaceId, name: 'a.png', size: PIXEL.length, type: 'image/png', tags },
    })
  expect((await open(['d'])).status).toBe(402)
  expect((await open(['c'])).status).toBe(201)
  // Assets in the trash do not count. Restoring one needs free tag slots.
  expect((await edit({ deletedAt: null })).status).toBe(200)
  expect((await tara.call('DELETE /api/assets/{id}', { path: { id: _id } })).status).toBe(200)
  expect((await upload(['e'])).status).toBe(201)
  expect((await edit({ deletedAt: null })).body.details).toMatchObject({ limit: 'tags', used: 3 })
  expect((await edit({ deletedAt: null, tags: ['a'] })).status).toBe(200)
  expect(first.status).toBe(201)
})

test('enforces the plan limit on direct conversations', async () => {
  await world.workspace('talking', 'zoe')
  const workspaceId = world.id('talking')
  const others = ['bob', 'cleo', 'dan', 'eve']
  const ids = new Map<string, string>()
  for (const name of others) ids.set(name, (await world.member('talking', name)).id)
  const open = (...names: string[]) =>
    world.as('zoe').call('POST /api/team/{workspaceId}/channels', {
      path: { workspaceId },
      body: { kind: 'dm', userIds: names.map((name) => ids.get(name)) },
    })
  const replies = await Promise.all(others.map((name) => open(name)))
  expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 201, 201, 402])
  expect(replies.find(({ status }) => status === 402)?.body.details).toEqual({
    limit: 'directConversations',
    value: BOUND,
    used: BOUND,
    plan: 'free',
  })
  // An existing conversation is returned, and channels have a limit of their own.
  const [known = ''] = others.filter((_, index) => replies[index]?.status === 201)
  expect((await open(known)).status).toBe(200)
})
