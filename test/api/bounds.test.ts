import { afterAll, beforeAll, expect, test } from 'vitest'
import { PLANS } from '../../src/domains/money/plans/plans.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

/** How many of each thing a workspace may have is a matter of its plan. */

const BOUND = 3
const COUNTED = ['streams', 'rtmpDestinations', 'folders', 'openUploads', 'channels', 'groups', 'roles'] as const
const usual = { ...PLANS.free.limits }
let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.workspace('other', 'ada')
  // As many as can be made quickly.
  Object.assign(PLANS.free.limits, Object.fromEntries(COUNTED.map((name) => [name, BOUND])))
})
afterAll(async () => {
  Object.assign(PLANS.free.limits, usual)
  await app?.stop()
})

/** How one more is made, and unmade. */
const MAKERS: Record<(typeof COUNTED)[number], { make: string; body: (n: number) => object; unmake: string }> = {
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

test.each(COUNTED)('%s of a workspace are bounded by its plan, also when they are made at once', async (limit) => {
  const { body, make, unmake } = MAKERS[limit]
  const isInPath = make.includes('{workspaceId}')
  const create = (n: number, workspace = 'acme') => {
    const workspaceId = world.id(workspace)
    const fields = isInPath ? body(n) : { workspaceId, ...body(n) }
    return world.as('ada').call(make, { ...(isInPath && { path: { workspaceId } }), body: fields })
  }
  const answers = await Promise.all(Array.from({ length: BOUND + 3 }, (_, n) => create(n)))
  const made = answers.filter(({ status }) => status === 201)
  expect(made, answers.map(({ text }) => text).join()).toHaveLength(BOUND)
  const refused = answers.filter(({ status }) => status !== 201)
  for (const { body: error, status } of refused) {
    expect([status, error.code]).toEqual([402, 'plan_limit_reached'])
    expect(error.details).toEqual({ limit, value: BOUND, used: BOUND, plan: 'free' })
    expect(error.message).toContain(`allows ${BOUND} `)
  }
  // Another workspace has room of its own, and one that goes makes room for another.
  expect((await create(0, 'other')).status).toBe(201)
  const [name = 'id'] = [...unmake.matchAll(/\{(?!workspaceId)(\w+)\}/g)].map((match) => match[1])
  const { _id, uploadId } = made[0]!.body.data as { _id: string; uploadId?: string }
  const path = { ...(isInPath && { workspaceId: world.id('acme') }), [name]: uploadId ?? _id }
  expect((await world.as('ada').call(unmake, { path })).status).toBe(200)
  expect((await create(100)).status).toBe(201)
  expect((await create(101)).status).toBe(402)
})

test('the plan of a new payer counts at once', async () => {
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
