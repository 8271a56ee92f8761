import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY } from '../../src/core/clock.ts'
import { PLANS } from '../../src/domains/money/plans/plans.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { waitFor } from '../support/wait.ts'
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
  'openPosts',
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
  const limits = [...COUNTED, 'directConversations', 'recurringPosts'].map((name) => [name, BOUND])
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
  openPosts: { make: 'POST /api/posts', body: (n) => ({ content: `P${n}` }), unmake: 'DELETE /api/posts/{id}' },
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
    expect(error.details).toEqual({
      limit,
      value: BOUND,
      used: BOUND,
      plan: 'free',
      nextPlan: expect.any(String) as string,
      isTrial: false,
    })
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
  expect(replies.find(({ status }) => status === 402)?.body.details).toMatchObject({
    limit: 'directConversations',
    value: BOUND,
    used: BOUND,
    plan: 'free',
  })
  // An existing conversation is returned, and channels have a separate limit.
  const [known = ''] = others.filter((_, index) => replies[index]?.status === 201)
  expect((await open(known)).status).toBe(200)
})

test('counts the posts of a bulk request and of ideas, and those that are published or deleted no more', async () => {
  await world.workspace('posting', 'ida')
  const workspaceId = world.id('posting')
  const ida = world.as('ida')
  const bulk = (count: number, options: object = {}) => {
    const posts = Array.from({ length: count }, (_, n) => ({ content: `Bulk ${n}`, targets: [] }))
    return ida.call('POST /api/posts/bulk', { body: { workspaceId, posts, ...options } })
  }
  const list = () => ida.call('GET /api/posts', { query: { workspaceId } })
  expect((await bulk(BOUND + 1)).body.details).toMatchObject({ limit: 'openPosts', value: BOUND })
  expect((await list()).body.data).toEqual([])
  const dry = await bulk(BOUND + 1, { dryRun: true })
  expect(dry.body.data.rows.map(({ status }: { status: string }) => status)).toEqual([
    ...Array.from({ length: BOUND }, () => 'valid'),
    'refused',
  ])
  expect(dry.body.data.rows.at(-1).errors).toMatchObject([{ code: 'plan_limit_reached' }])
  const partial = await bulk(BOUND + 1, { partial: true })
  expect([partial.status, partial.body.data]).toMatchObject([201, { createdCount: BOUND, refusedCount: 1 }])
  const board = await ida.call('POST /api/ideas/boards', { body: { workspaceId, name: 'Ideas' } })
  const body = { workspaceId, boardId: board.body.data._id, title: 'An idea' }
  const idea = await ida.call('POST /api/ideas', { body })
  const convert = () => ida.call('POST /api/ideas/{id}/convert', { path: { id: idea.body.data._id } })
  expect((await convert()).body.details).toMatchObject({ limit: 'openPosts', used: BOUND })
  const [first] = (await list()).body.data as { _id: string }[]
  await app.database.run(`update posts set status = 'published' where id = $1`, [first?._id ?? null])
  expect((await convert()).status).toBe(201)
  expect((await bulk(1)).status).toBe(402)
  const quota = { kind: 'openPosts', workspaceId, limit: BOUND, used: BOUND, over: 0 }
  const status = await ida.call('GET /api/limits/status')
  expect(status.body.data.quotas).toContainEqual(expect.objectContaining(quota))
  const refused = await ida.call('POST /api/posts/validate', { body: { workspaceId, content: 'One more' } })
  expect(refused.body.data).toMatchObject({ isValid: false, problems: [{ code: 'plan_limit_reached' }] })
})

test('enforces the plan limit on recurring posts, and not on their occurrences', async () => {
  await world.workspace('recurring', 'rae')
  const workspaceId = world.id('recurring')
  const rae = world.as('rae')
  const account = { workspaceId, platform: 'mastodon', sandbox: true }
  const accountId: string = (await rae.call('POST /api/social-accounts', { body: account })).body.data._id
  const tomorrow = new Date(Date.now() + DAY).toISOString().slice(0, 10)
  const create = (n: number, route = 'POST /api/posts') => {
    const recurrence = { rrule: 'FREQ=DAILY;COUNT=2' }
    const scheduledFor = `${tomorrow}T1${n}:00`
    const targets = [{ accountId }]
    return rae.call(route, { body: { workspaceId, content: `R${n}`, targets, scheduledFor, recurrence } })
  }
  const free = PLANS.free.limits
  Object.assign(free, { openPosts: usual.openPosts })
  const made = []
  for (let n = 0; n < BOUND; n += 1) made.push(await create(n))
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
  const refused = await create(BOUND)
  expect([refused.status, refused.body.details]).toMatchObject([402, { limit: 'recurringPosts', used: BOUND }])
  const checked = await create(BOUND, 'POST /api/posts/validate')
  expect(checked.body.data).toMatchObject({ isValid: false, problems: [{ details: { limit: 'recurringPosts' } }] })
  // Their next occurrences are made although no post more can be planned.
  Object.assign(free, { openPosts: 1 })
  const count = async () => (await rae.call('GET /api/posts', { query: { workspaceId } })).body.data.length as number
  await waitFor(async () => (await count()) === 2 * BOUND, { what: 'the next occurrences' })
  Object.assign(free, { openPosts: BOUND })
  const [{ seriesId }] = made.map(({ body }) => body.data) as [{ seriesId: string }]
  expect((await rae.call('POST /api/posts/series/{seriesId}/end', { path: { seriesId }, body: {} })).status).toBe(200)
  expect((await create(BOUND)).body.details).toMatchObject({ limit: 'openPosts' })
})
