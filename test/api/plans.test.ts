import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { listPlans } from '../../src/domains/money/plans/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock(Date.parse('2026-01-31T10:00:00Z'))
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.user('ada')
})
afterAll(() => app?.stop())

test('anyone can read the plans', async () => {
  const { status, body } = await world.anonymous().call(listPlans)
  expect(status).toBe(200)
  expect(body.data.map((plan: { name: string }) => plan.name)).toEqual(['free', 'starter', 'pro', 'business'])
  const [free, starter] = body.data
  expect(free.limits).toMatchObject({ streamDestinations: 10, streamingMinutesPerMonth: 600 })
  expect(free.prices.month).toEqual({ amount: 0, currency: 'USD' })
  expect(starter.prices).toEqual({
    month: { amount: 1_900, currency: 'USD' },
    quarter: { amount: 5_130, currency: 'USD' },
    year: { amount: 19_000, currency: 'USD' },
  })
})

test('a new user is on the free plan, with a cycle of one month', async () => {
  const { plans } = app.composition.services
  expect(await plans.subscriptionOf(world.id('ada'))).toEqual({
    plan: 'free',
    status: 'active',
    creditsRemaining: 20,
    creditsPerMonth: 20,
    startDate: '2026-01-31T10:00:00.000Z',
    endDate: '2026-02-28T10:00:00.000Z',
  })
})

test('credits are restored in the next cycle', async () => {
  const { ledger, plans } = app.composition.services
  const userId = world.id('ada')
  await app.database.transaction(async (tx) => {
    const { _id } = await ledger.credits.reserve(tx, { userId, amount: 15, reference: 'test' })
    await ledger.credits.settle(tx, _id, 15)
  })
  expect((await plans.subscriptionOf(userId)).creditsRemaining).toBe(5)
  clock.advance(29 * DAY)
  expect(await plans.subscriptionOf(userId)).toMatchObject({
    creditsRemaining: 20,
    startDate: '2026-02-28T10:00:00.000Z',
    endDate: '2026-03-31T10:00:00.000Z',
  })
})

test('a change of plan takes effect at once', async () => {
  const { plans } = app.composition.services
  expect(await plans.limitsOf(world.id('ada'))).toMatchObject({ plan: 'free', streamDestinations: 10 })
  await plans.change(world.id('ada'), 'pro')
  expect(await plans.limitsOf(world.id('ada'))).toMatchObject({ plan: 'pro', streamDestinations: 25 })
})

test.each([
  ['starter', 'starter', 5],
  ['unlimited', 'business', 1_000_000_000],
])('DEFAULT_PLAN=%s decides what new users get', async (setting, plan, workspaces) => {
  const other = await startApp({ clock, env: { DEFAULT_PLAN: setting } })
  try {
    const people = new World(other)
    const { id } = await people.user('bea')
    const { plans } = other.composition.services
    expect(await plans.limitsOf(id)).toMatchObject({ plan, workspaces })
    expect(await plans.lockLimitsOf(other.database, id)).toMatchObject({ plan, workspaces })
    // More than the free plan allows.
    for (const name of ['one', 'two', 'three', 'four']) await people.workspace(name, 'bea')
  } finally {
    await other.stop()
  }
})

test('a user without a subscription gets the default plan, whichever request comes first', async () => {
  const first: Record<string, () => Promise<{ status: number; text: string }>> = {
    upload: () =>
      world.as('una').call('POST /api/assets/upload', {
        body: { workspaceId: world.id('lost') },
        file: { name: 'pixel.png', content: new Uint8Array(PIXEL) },
      }),
    'another workspace': () =>
      world.as('una').call('POST /api/workspaces', { body: { name: 'Second', timezone: 'Europe/Berlin' } }),
    profile: () => world.as('una').call('GET /api/users/me'),
    storage: () => world.as('una').call('GET /api/assets/storage', { query: { workspaceId: world.id('lost') } }),
  }
  await world.workspace('lost', 'una')
  for (const [what, ask] of Object.entries(first)) {
    await app.database.run('delete from subscriptions where user_id = $1', [world.id('una')])
    const { status, text } = await ask()
    expect([200, 201], `${what}: ${text}`).toContain(status)
  }
  expect(await app.composition.services.plans.subscriptionOf(world.id('una'))).toMatchObject({ plan: 'free' })
})

test('a limit of the plan of new users names DEFAULT_PLAN to administrators of the server, and in the log', async () => {
  const lines = () => app.logs.filter(({ hint }) => hint !== undefined)
  const hint = expect.stringContaining('DEFAULT_PLAN=unlimited') as unknown
  for (const name of ['plain', 'root']) {
    const { apiKey } = await world.user(name, { admin: name === 'root' })
    const make = (headers = {}) =>
      app.send('POST /api/workspaces', { apiKey, headers, body: { name: 'One', timezone: 'UTC' } })
    for (let made = 0; made < 3; made += 1) expect((await make()).status).toBe(201)
    const before = lines().length
    const [refused, problem] = [await make(), await make({ Accept: 'application/problem+json' })]
    for (const { body, status } of [refused, problem]) {
      expect([status, body.code]).toEqual([402, 'plan_limit_reached'])
      if (name === 'root') expect(body.hint).toEqual(hint)
      else expect(JSON.stringify(body)).not.toContain('DEFAULT_PLAN')
    }
    expect(lines().slice(before)).toMatchObject([
      { op: 'createWorkspace', error: 'plan_limit_reached', hint },
      { op: 'createWorkspace', error: 'plan_limit_reached', hint },
    ])
  }
  // A plan that somebody pays for does not depend on the setting.
  const { apiKey } = await world.user('payer', { admin: true, plan: 'starter' })
  let reply = await app.send('POST /api/workspaces', { apiKey, body: { name: 'One', timezone: 'UTC' } })
  for (let made = 0; made < 50 && reply.status === 201; made += 1)
    reply = await app.send('POST /api/workspaces', { apiKey, body: { name: 'One', timezone: 'UTC' } })
  expect([reply.status, reply.body.hint]).toEqual([402, undefined])
})
