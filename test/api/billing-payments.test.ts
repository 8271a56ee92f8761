import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCoupon } from '../../src/domains/money/billing/coupon-operations.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import {
  addExtraAccounts,
  createCyclesFromTransaction,
  renewSubscription,
  upgradeCycles,
  upgradeSubscription,
} from '../../src/domains/money/billing/purchase-operations.ts'
import { startApp, type App } from '../support/app.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { ApiCaller } from '../support/world.ts'

/** Two nodes, and users who pay from the wallet or with a card. */

let redis: TestRedis
let desk: BillingDesk
let there: App

beforeAll(async () => {
  redis = await startRedis()
  desk = await startBillingDesk('2026-01-31T10:00:00Z', { redisUrl: redis.url })
  const { app, clock, env } = desk
  there = await startApp({ clock, env, redisUrl: redis.url, databaseUrl: app.databaseUrl })
})
afterAll(async () => {
  await there?.stop()
  await desk?.stop()
  await redis?.stop()
})

const as = (name: string) => desk.world.as(name)
const elsewhere = (name: string) => new ApiCaller(there, { apiKey: desk.world.key(name) })
const subscription = async (name: string) => (await as(name).call(billing.getSubscription)).body.data
const succeeded = async (name: string) => (await desk.payments(name)).filter(({ status }) => status === 'succeeded')

/** 50 requests at once, half of them on each node. */
async function twins(name: string, operation: Parameters<ApiCaller['call']>[0], body?: object) {
  const options = body === undefined ? {} : { body }
  const sent = Array.from({ length: 50 }, (_, index) =>
    (index % 2 === 0 ? as(name) : elsewhere(name)).call(operation, options),
  )
  const replies = await Promise.all(sent)
  const statuses = [...new Set(replies.map(({ status }) => status))].toSorted((a, b) => a - b)
  expect(
    statuses.every((status) => [200, 402, 409].includes(status)),
    String(statuses),
  ).toBe(true)
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
  return statuses
}

test('an upgrade without a payment method and without money is refused, and says what is missing', async () => {
  await desk.world.user('poor')
  const refused = await as('poor').call(upgradeSubscription, { body: { planName: 'pro' } })
  expect([refused.status, refused.body.code, refused.body.details]).toEqual([
    402,
    'payment_needed',
    { amount: 4_900, currency: 'USD' },
  ])
  expect(await subscription('poor')).toMatchObject({ plan: 'free', status: 'active' })
})

test('an upgrade with a card that is declined is refused, and can be repeated with another card', async () => {
  await desk.world.user('cara')
  await desk.saveCard('cara', 'pm_card_chargeCustomerFail')
  for (let time = 0; time < 2; time += 1) {
    const refused = await as('cara').call(upgradeSubscription, { body: { planName: 'pro' } })
    expect([refused.status, refused.body.code]).toEqual([402, 'payment_declined'])
  }
  await desk.saveCard('cara')
  const upgraded = await as('cara').call(upgradeSubscription, { body: { planName: 'pro' } })
  expect([upgraded.status, upgraded.text]).toEqual([200, ''])
  expect(await subscription('cara')).toMatchObject({ plan: 'pro', status: 'active' })
  expect(await succeeded('cara')).toHaveLength(1)
})

test('limits follow a payment on every node', async () => {
  await desk.world.user('lina')
  await desk.topUp('lina', 20_000)
  const limits = () => there.composition.services.plans.limitsOf(desk.world.id('lina'))
  expect((await limits()).plan).toBe('free')
  await as('lina').call(upgradeSubscription, { body: { planName: 'pro' } })
  expect(await there.composition.services.plans.lockLimitsOf(there.database, desk.world.id('lina'))).toMatchObject({
    plan: 'pro',
  })
  await waitFor(async () => (await limits()).plan === 'pro')
  expect(await desk.wallet('lina')).toBe(15_100)
})

test('50 twins of each purchase on two nodes are charged once, from the wallet and by card', async () => {
  for (const name of ['wanda', 'carl']) await desk.world.user(name)
  await desk.topUp('wanda', 1_000_000)
  await desk.saveCard('carl')
  for (const name of ['wanda', 'carl']) {
    let paid = 0
    for (const [operation, body] of [
      [upgradeSubscription, { planName: 'starter' }],
      [upgradeCycles, { planName: 'pro', term: 'quarter' }],
    ] as const) {
      expect(await twins(name, operation, body)).toContain(200)
      paid += 1
      expect(await succeeded(name)).toHaveLength(paid)
    }
    expect(await subscription(name)).toMatchObject({ plan: 'pro', status: 'active', term: 'quarter' })
  }
})

test('50 twins of what costs nothing change the subscription once', async () => {
  await desk.world.user('tess')
  await twins('tess', billing.selectPlan, { planName: 'pro' })
  expect(await subscription('tess')).toMatchObject({ status: 'trialing' })
  await twins('tess', billing.cancelSubscription)
  expect(await subscription('tess')).toMatchObject({ status: 'cancelled' })
  await twins('tess', billing.setRecurring, { enabled: true })
  expect(await subscription('tess')).toMatchObject({ status: 'trialing' })
  await desk.topUp('tess', 100_000)
  await as('tess').call(upgradeCycles, { body: { planName: 'pro', extraAccounts: 60 } })
  expect(await twins('tess', billing.removeExtraAccounts, { count: 2 })).toEqual([200, 409])
  expect((await as('tess').call(billing.getExtraAccounts)).body.data).toMatchObject({ extraAccounts: 60, ending: 60 })
  await twins('tess', billing.cancelExtraAccountRemoval)
  await twins('tess', billing.downgradeSubscription, { planName: 'starter' })
  await twins('tess', billing.cancelDowngrade)
  await twins('tess', billing.setRenewalTerm, { term: 'year' })
  expect(await subscription('tess')).toMatchObject({ nextPlan: null, term: 'year', status: 'active' })
})

test('a coupon for one customer is used by one, however many enter it at once', async () => {
  const coupon = { code: 'ONLY-ONE', percent: 50, maxUses: 1 }
  expect((await as('root').call(createCoupon, { body: coupon })).status).toBe(201)
  const names = Array.from({ length: 8 }, (_, index) => `guest${index}`)
  for (const name of names) {
    await desk.world.user(name)
    await desk.topUp(name, 10_000)
  }
  const replies = await Promise.all(
    names.map((name) => as(name).call(upgradeCycles, { body: { planName: 'starter', couponCode: 'only-one' } })),
  )
  const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length
  expect([count(200), count(409)]).toEqual([1, 7])
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
})

test('a renewal on two nodes at once is charged once', async () => {
  for (const name of ['rita', 'rolf']) await desk.world.user(name)
  await desk.topUp('rita', 50_000)
  await desk.saveCard('rolf')
  for (const name of ['rita', 'rolf']) {
    await as(name).call(upgradeSubscription, { body: { planName: 'starter' } })
  }
  const { endDate } = await subscription('rita')
  desk.advanceTo(endDate)
  for (const name of ['rita', 'rolf']) {
    const nodes = [desk.app, there, desk.app, there, there, desk.app]
    await Promise.all(nodes.map((node) => node.composition.services.billing.renewals.advance(desk.world.id(name))))
    expect(await succeeded(name)).toHaveLength(2)
    const { data } = (await as(name).call(billing.listBillingCycles)).body
    expect(data.map((cycle: { status: string }) => cycle.status)).toEqual(['current', 'ended'])
  }
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
})

test('a renewal that is stopped at any step is charged once by the next one', async () => {
  const { steps } = desk.app.composition.services.payments
  const at = [
    'intent.written',
    'gateway.created',
    'reference.written',
    'gateway.confirmed',
    'settle',
    'settle.commit',
    'settled',
  ] as const
  for (const [index, step] of at.entries()) {
    const name = `kim${index}`
    await desk.world.user(name)
    await desk.saveCard(name)
    await as(name).call(upgradeSubscription, { body: { planName: 'starter' } })
    desk.advanceTo((await subscription(name)).endDate)
    steps.onStep = (reached) => {
      if (reached === step) throw new Error('killed')
    }
    await expect(desk.advance(name), step).rejects.toThrow('killed')
    steps.onStep = undefined
    await desk.advance(name)
    await desk.advance(name)
    expect(await succeeded(name), step).toHaveLength(2)
    expect(await subscription(name)).toMatchObject({ status: 'active', plan: 'starter' })
  }
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
})

test('a payment that no longer fits the subscription goes to the wallet', async () => {
  await desk.world.user('lars')
  await desk.topUp('lars', 100_000)
  const begun = await as('lars').call('POST /api/payments/initialize', {
    body: { purpose: 'subscription', planName: 'pro', gateway: 'stripe' },
  })
  expect(begun.status, begun.text).toBe(201)
  await as('lars').call(upgradeSubscription, { body: { planName: 'business' } })
  const { clientSecret, payment } = begun.body.data
  await desk.stripe.pay(clientSecret)
  const verified = await as('lars').call('POST /api/payments/verify', { body: { reference: payment.reference } })
  expect(verified.body.data.payment).toMatchObject({ status: 'succeeded', settledTo: 'wallet' })
  expect(await subscription('lars')).toMatchObject({ plan: 'business' })
  expect(await desk.wallet('lars')).toBe(100_000 - 14_900 + 4_900)
})

test('cycles can be paid ahead, and the cycles of a payment can be added any number of times', async () => {
  await desk.world.user('pia')
  await desk.topUp('pia', 100_000)
  await as('pia').call(upgradeSubscription, { body: { planName: 'starter' } })
  const renewed = await as('pia').call(renewSubscription, { body: { terms: 2 } })
  expect(renewed.status, renewed.text).toBe(200)
  const [transaction] = await succeeded('pia')
  const body = { transactionId: transaction?._id }
  for (let time = 0; time < 2; time += 1) {
    const cycles = await as('root').call(createCyclesFromTransaction, { body })
    expect(cycles.body.data.map((cycle: { status: string }) => cycle.status)).toEqual(['upcoming', 'upcoming'])
  }
  // An upgrade replaces all of them.
  expect((await as('pia').call(upgradeCycles, { body: { planName: 'pro' } })).status).toBe(200)
  const { data } = (await as('pia').call(billing.listBillingCycles)).body
  expect(data.filter((cycle: { status: string }) => cycle.status === 'replaced')).toHaveLength(3)
  expect(await desk.wallet('pia')).toBe(100_000 - 3 * 4_900)
  expect((await as('root').call(createCyclesFromTransaction, { body })).status).toBe(200)
})

test('extra accounts are paid for the rest of the cycle, and a trial can be paid before its end', async () => {
  await desk.world.user('xena')
  await desk.topUp('xena', 10_000)
  await as('xena').call(billing.selectPlan, { body: { planName: 'starter' } })
  expect((await as('xena').call(addExtraAccounts, { body: { count: 2 } })).status).toBe(200)
  expect(await subscription('xena')).toMatchObject({ status: 'active', extraAccounts: 2 })
  expect(await desk.wallet('xena')).toBe(10_000 - 1_900 - 600)
})

test('credits are bought with an invoice', async () => {
  await desk.world.user('cody')
  await desk.topUp('cody', 10_000)
  const bought = await as('cody').call('POST /api/payments/wallet', { body: { purpose: 'credits', creditCount: 500 } })
  expect(bought.status, bought.text).toBe(201)
  expect(await subscription('cody')).toMatchObject({ creditsRemaining: 520 })
  expect((await as('cody').call('GET /api/billing/invoices')).body.data).toHaveLength(1)
})
