import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock } from '../../src/core/clock.ts'
import { createCoupon, endCoupon } from '../../src/domains/money/billing/coupon-operations.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock(Date.parse('2026-01-31T10:00:00Z'))
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.user('root', { admin: true })
})
afterAll(() => app?.stop())

const read = async (name: string) => (await world.as(name).call(billing.getSubscription)).body.data

/** What a settled payment does. */
async function pay(
  name: string,
  request: Parameters<App['composition']['services']['billing']['pricing']['price']>[2],
) {
  const { pricing, settlement } = app.composition.services.billing
  await app.database.transaction(async (tx) => {
    const { change, row } = await pricing.price(tx, world.id(name), request, { lock: true })
    expect(await settlement.apply(tx, world.id(name), change, { version: row.version, paymentId: null })).toBe(true)
  })
}

const advance = (name: string) => app.composition.services.billing.renewals.advance(world.id(name))

test('a new user is on the free plan and has nothing to pay', async () => {
  await world.user('ada')
  expect(await read('ada')).toMatchObject({
    plan: 'free',
    status: 'active',
    term: 'month',
    isRecurring: false,
    nextChargeAt: null,
    extraAccounts: 0,
    credits: { remaining: 20, perMonth: 20 },
  })
  for (const [operation, body] of [
    [billing.cancelSubscription, undefined],
    [billing.setRenewalTerm, { term: 'year' }],
    [billing.removeExtraAccounts, { count: 1 }],
    [billing.cancelExtraAccountRemoval, undefined],
    [billing.downgradeSubscription, { planName: 'starter' }],
  ] as const) {
    const reply = await world.as('ada').call(operation, body === undefined ? {} : { body })
    expect([operation.route, reply.status]).toEqual([operation.route, 409])
  }
})

test('a plan that is chosen after the sign-up begins with a trial, which can change its plan', async () => {
  await world.user('bea')
  const chosen = await world.as('bea').call(billing.selectPlan, { body: { planName: 'starter' } })
  expect(chosen.body.data).toMatchObject({
    plan: 'starter',
    status: 'trialing',
    isRecurring: true,
    startDate: '2026-01-31T10:00:00.000Z',
    endDate: '2026-02-14T10:00:00.000Z',
    nextChargeAt: '2026-02-14T10:00:00.000Z',
  })
  expect(await app.composition.services.plans.limitsOf(world.id('bea'))).toMatchObject({ plan: 'starter' })
  clock.advance(DAY)
  const changed = await world.as('bea').call(billing.selectPlan, { body: { planName: 'pro', term: 'year' } })
  expect(changed.body.data).toMatchObject({ plan: 'pro', status: 'trialing', endDate: '2026-02-14T10:00:00.000Z' })
  const cycles = await world.as('bea').call(billing.listBillingCycles)
  expect(
    cycles.body.data.map((cycle: { kind: string; status: string; plan: string }) => [
      cycle.plan,
      cycle.kind,
      cycle.status,
    ]),
  ).toEqual([
    ['pro', 'trial', 'current'],
    ['starter', 'trial', 'replaced'],
  ])
})

test('a trial is mentioned in a mail before it ends, and ends on the free plan when nothing can be charged', async () => {
  await world.user('cleo')
  await world.as('cleo').call(billing.selectPlan, { body: { planName: 'pro' } })
  clock.advance(11 * DAY - HOUR)
  await advance('cleo')
  expect(await read('cleo')).toMatchObject({ status: 'trialing', nextChargeAt: '2026-02-15T10:00:00.000Z' })
  clock.advance(HOUR)
  await advance('cleo')
  await app.outbox.newest('cleo@example.com', /^Your trial of Crier Pro ends on 15 February 2026$/)
  clock.advance(3 * DAY)
  await advance('cleo')
  expect(await read('cleo')).toMatchObject({ plan: 'free', status: 'expired', isRecurring: false, nextChargeAt: null })
  await app.outbox.newest('cleo@example.com', /^Your Crier Pro plan has ended$/)
  const again = await world.as('cleo').call(billing.selectPlan, { body: { planName: 'pro' } })
  expect(again.status).toBe(409)
})

test('a cancelled subscription stays until the end of what is paid, and can be resumed before', async () => {
  await world.user('dora')
  await pay('dora', { kind: 'upgrade', planName: 'pro', extraAccounts: 2 })
  const { endDate } = await read('dora')
  const twice = [
    await world.as('dora').call(billing.cancelSubscription),
    await world.as('dora').call(billing.cancelSubscription),
  ]
  for (const { body, status } of twice) {
    expect([status, body.data.status, body.data.isRecurring, body.data.nextChargeAt]).toEqual([
      200,
      'cancelled',
      false,
      null,
    ])
  }
  const resumed = await world.as('dora').call(billing.setRecurring, { body: { enabled: true } })
  expect(resumed.body.data).toMatchObject({ status: 'active', isRecurring: true, nextChargeAt: endDate })
  await world.as('dora').call(billing.setRecurring, { body: { enabled: false } })
  expect(await app.composition.services.plans.limitsOf(world.id('dora'))).toMatchObject({
    plan: 'pro',
    socialAccounts: 52,
  })
  clock.advance(Date.parse(endDate) - clock.now())
  await advance('dora')
  expect(await read('dora')).toMatchObject({ plan: 'free', status: 'expired', extraAccounts: 0 })
  expect(await app.composition.services.plans.limitsOf(world.id('dora'))).toMatchObject({
    plan: 'free',
    socialAccounts: 5,
  })
})

test('extra accounts raise the limit at once and end with the cycle', async () => {
  await world.user('emma')
  await pay('emma', { kind: 'upgrade', planName: 'starter' })
  await pay('emma', { kind: 'upgrade', extraAccounts: 3 })
  const view = (await world.as('emma').call(billing.getExtraAccounts)).body.data
  expect(view).toMatchObject({
    extraAccounts: 3,
    ending: 0,
    includedAccounts: 15,
    usedAccounts: 0,
    price: { amount: 300, currency: 'USD' },
  })
  expect(await app.composition.services.plans.limitsOf(world.id('emma'))).toMatchObject({ socialAccounts: 18 })
  expect((await world.as('emma').call(billing.removeExtraAccounts, { body: { count: 4 } })).status).toBe(409)
  const removed = await world.as('emma').call(billing.removeExtraAccounts, { body: { count: 2 } })
  expect(removed.body.data).toMatchObject({ extraAccounts: 3, ending: 2 })
  expect((await world.as('emma').call(billing.cancelExtraAccountRemoval)).body.data).toMatchObject({ ending: 0 })
  await world.as('emma').call(billing.removeExtraAccounts, { body: { count: 1 } })
  expect(await app.composition.services.plans.limitsOf(world.id('emma'))).toMatchObject({ socialAccounts: 18 })
  clock.advance(Date.parse(view.endDate) - clock.now())
  await pay('emma', { kind: 'renewal', terms: 1 })
  expect(await app.composition.services.plans.limitsOf(world.id('emma'))).toMatchObject({ socialAccounts: 17 })
  expect(await read('emma')).toMatchObject({ extraAccounts: 2, status: 'active' })
})

test('a smaller plan begins with the next cycle', async () => {
  await world.user('fay')
  await pay('fay', { kind: 'upgrade', planName: 'business' })
  for (const planName of ['business', 'free']) {
    expect((await world.as('fay').call(billing.downgradeSubscription, { body: { planName } })).status).toBe(409)
  }
  const planned = await world.as('fay').call(billing.downgradeSubscription, { body: { planName: 'starter' } })
  expect(planned.body.data).toMatchObject({ plan: 'business', nextPlan: 'starter' })
  expect((await world.as('fay').call(billing.cancelDowngrade)).body.data).toMatchObject({ nextPlan: null })
  await world.as('fay').call(billing.downgradeSubscription, { body: { planName: 'starter' } })
  clock.advance(Date.parse(planned.body.data.endDate) - clock.now())
  await pay('fay', { kind: 'renewal', terms: 1 })
  expect(await read('fay')).toMatchObject({ plan: 'starter', nextPlan: null })
})

test('a preview explains the proration and the discount, and uses up no coupon', async () => {
  await world.user('gina')
  await pay('gina', { kind: 'upgrade', planName: 'starter' })
  const start = clock.now()
  const { endDate } = await read('gina')
  clock.advance((Date.parse(endDate) - start) / 2)
  const made = await world
    .as('root')
    .call(createCoupon, { body: { code: 'Half-1', percent: 50, maxUses: 1, plans: ['pro'] } })
  expect(made.status, made.text).toBe(201)
  for (let time = 0; time < 2; time += 1) {
    const body = { planName: 'pro', couponCode: 'half-1' }
    const preview = await world.as('gina').call(billing.previewProration, { body })
    expect(preview.body.data.quote).toMatchObject({
      lines: [
        { kind: 'plan', amount: 2_450 },
        { kind: 'unused', amount: -950 },
        { kind: 'discount', description: 'Coupon Half-1 (50 %)', amount: -1_225 },
      ],
      discount: 1_225,
      net: 275,
      total: 275,
    })
  }
  const other = await world
    .as('gina')
    .call(billing.previewProration, { body: { planName: 'business', couponCode: 'half-1' } })
  expect([other.status, other.body.code, other.body.message]).toEqual([
    409,
    'coupon_not_valid',
    'This coupon is for other plans: Pro.',
  ])
  expect((await world.as('root').call(endCoupon, { path: { id: made.body.data._id } })).body.data.usesCount).toBe(0)
  const ended = await world.as('gina').call(billing.previewCoupon, { body: { code: 'HALF-1', planName: 'pro' } })
  expect([ended.status, ended.body.message]).toEqual([409, 'This coupon has ended.'])
})

test('usage names what is used and the limit of everything that is metered', async () => {
  await world.user('hana')
  await world.workspace('acme', 'hana')
  const { items } = (await world.as('hana').call(billing.getBillingUsage)).body.data
  expect(items).toEqual(
    [
      ['workspaces', 1, 3],
      ['socialAccounts', 0, 5],
      ['streamingMinutesPerMonth', 0, 600],
      ['concurrentStreams', 0, 4],
      ['storageBytes', 0, 5_000_000_000],
      ['aiCreditsPerMonth', 0, 20],
      ['rendersPerMonth', 0, 50],
    ].map(([name, used, limit]) =>
      expect.objectContaining({ name, used, limit, left: (limit as number) - (used as number) }),
    ),
  )
})
