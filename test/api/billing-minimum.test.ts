import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, MINUTE } from '../../src/core/clock.ts'
import { createCoupon } from '../../src/domains/money/billing/coupon-operations.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { renewSubscription, upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import { jobs } from '../../src/registry/jobs.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { QUICK } from '../support/jobs.ts'
import { waitFor } from '../support/wait.ts'

/** Amounts that the gateway does not take, and subscriptions that cannot be advanced. */

let desk: BillingDesk

beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z')
  const body = { code: 'ALMOST-FREE', percent: 99 }
  expect((await as('root').call(createCoupon, { body })).status).toBe(201)
})
afterAll(() => desk?.stop())

const as = (name: string) => desk.world.as(name)
const current = async (name: string) => (await as(name).call(billing.getSubscription)).body.data
const almostFree = { planName: 'starter', couponCode: 'ALMOST-FREE' }

test('a purchase below the smallest charge is refused with the minimum, and paid from a wallet that has enough', async () => {
  await desk.world.user('mina')
  await desk.saveCard('mina')
  const refused = await as('mina').call(upgradeCycles, { body: almostFree })
  expect([refused.status, refused.body.code, refused.body.details]).toEqual([
    409,
    'amount_too_small',
    { amount: 19, minimum: 50, currency: 'USD' },
  ])
  expect(await current('mina')).toMatchObject({ plan: 'free' })
  await desk.topUp('mina', 100)
  expect((await as('mina').call(upgradeCycles, { body: almostFree })).status).toBe(200)
  expect(await desk.wallet('mina')).toBe(81)
  expect(await current('mina')).toMatchObject({ plan: 'starter', status: 'active' })
})

test('a renewal below the smallest charge is free, and its cycle says why', async () => {
  await desk.world.user('rena')
  await desk.topUp('rena', 19)
  expect((await as('rena').call(upgradeCycles, { body: almostFree })).status).toBe(200)
  await desk.saveCard('rena')
  const { endDate } = await current('rena')
  desk.clock.advance(Date.parse(endDate) - desk.clock.now())
  await desk.advance('rena')
  expect(await current('rena')).toMatchObject({ plan: 'starter', status: 'active' })
  expect(Date.parse((await current('rena')).endDate)).toBeGreaterThan(Date.parse(endDate))
  const [cycle] = (await as('rena').call(billing.listBillingCycles, { query: {} })).body.data
  expect(cycle).toMatchObject({ netAmount: 0, transactionId: null, quote: { total: 0 } })
  expect(cycle.quote.lines.at(-1)).toMatchObject({ description: 'Below the smallest charge', amount: -19 })
  expect(await desk.payments('rena')).toHaveLength(1)
})

test('a payment that the gateway refuses to make is a refusal, not an error of the server', async () => {
  await desk.world.user('lena')
  await desk.saveCard('lena')
  const [method] = (await as('lena').call('GET /api/users/me/payment-methods', {})).body.data
  await desk.app.database.run('update payment_methods set reference = $1 where id = $2', ['pm_gone', method._id])
  const refused = await as('lena').call(upgradeCycles, { body: { planName: 'starter' } })
  expect([refused.status, refused.body.code]).toEqual([402, 'payment_declined'])
})

test('an amount off one cycle is not taken off the other eleven', async () => {
  await desk.world.user('cleo')
  const body = { code: 'ONE-CYCLE', amount: 100_000, cycles: 1 }
  expect((await as('root').call(createCoupon, { body })).status).toBe(201)
  await desk.topUp('cleo', 100_000)
  await as('cleo').call(upgradeCycles, { body: { planName: 'starter' } })
  const renewed = await as('cleo').call(renewSubscription, { body: { terms: 12, couponCode: 'ONE-CYCLE' } })
  expect([renewed.status, await desk.wallet('cleo')]).toEqual([200, 100_000 - 1_900 - 11 * 1_900])
})

test('a subscription that fails three times raises an alarm and waits, while others are renewed', async () => {
  const shop = await startBillingDesk('2026-01-31T10:00:00Z', { jobs, jobTimes: QUICK })
  try {
    const { app, clock, world } = shop
    for (const name of ['stuck', 'well']) {
      await world.user(name)
      await shop.topUp(name, 3_800)
      await world.as(name).call(upgradeCycles, { body: { planName: 'starter' } })
    }
    // A plan that this version does not know.
    await app.database.run("update subscriptions set plan = 'unknown' where user_id = $1", [world.id('stuck')])
    clock.advance(29 * DAY)
    const column = async (name: string, sql: string) =>
      (
        await app.database.row<{ at: string }>(`select ${sql} as at from subscriptions where user_id = $1`, [
          world.id(name),
        ])
      )?.at
    const isAlarm = ({ msg }: { readonly msg?: unknown }) => msg === 'a subscription could not be advanced'
    await waitFor(async () => {
      clock.advance(MINUTE)
      return app.logs.some(isAlarm) && Date.parse((await column('well', 'period_end')) ?? '') > clock.now()
    })
    await waitFor(async () => Date.parse((await column('stuck', 'due_at')) ?? '') > clock.now())
  } finally {
    await shop.stop()
  }
})
