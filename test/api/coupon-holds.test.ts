import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts'
import { createCoupon, listCoupons } from '../../src/domains/money/billing/coupon-operations.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import type { PaymentData } from '../../src/domains/money/payments/schemas.ts'
import { jobs } from '../../src/registry/jobs.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { QUICK } from '../support/jobs.ts'
import { waitFor } from '../support/wait.ts'

/** Open payments hold a coupon that only some customers can use. */

let desk: BillingDesk

beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z', {
    env: { BANK_TRANSFER_INSTRUCTIONS: 'Crier Ltd, IBAN DE00 1234' },
    jobs: jobs.filter(({ name }) => /^(mail|notifications)\.|^payments\.sweep$|^billing\.fitAccounts$/.test(name)),
    jobTimes: QUICK,
  })
  for (const name of ['ada', 'bob', 'cyd']) {
    await desk.world.user(name)
    await desk.topUp(name, 100_000)
  }
})
afterAll(() => desk?.stop())

const as = (name: string) => desk.world.as(name)

async function coupon(code: string, maxUses: number | undefined = 1): Promise<void> {
  const made = await as('root').call(createCoupon, { body: { code, percent: 50, ...(maxUses && { maxUses }) } })
  expect(made.status, made.text).toBe(201)
}

async function uses(code: string): Promise<number> {
  const { data } = (await as('root').call(listCoupons)).body
  return data.find((one: { code: string }) => one.code === code).usesCount
}

function begin(name: string, couponCode: string, gateway = 'manual') {
  const body = { purpose: 'subscription', planName: 'pro', couponCode, gateway }
  return as(name).call('POST /api/payments/initialize', { body })
}

async function transfer(name: string, couponCode: string): Promise<PaymentData & { readonly instructions: string }> {
  const begun = await begin(name, couponCode)
  expect(begun.status, begun.text).toBe(201)
  return { ...begun.body.data.payment, instructions: begun.body.data.instructions }
}

const buy = (name: string, couponCode: string) =>
  as(name).call(upgradeCycles, { body: { planName: 'starter', couponCode } })
const verify = async (name: string, reference: string): Promise<PaymentData> =>
  (await as(name).call('POST /api/payments/verify', { body: { reference } })).body.data.payment
const book = (id: string, receivedAmount: number) =>
  as('root').call('POST /api/payments/{id}/book', { path: { id }, body: { receivedAmount, reason: 'Bank statement' } })
const isoAfter = (ms: number) => new Date(desk.clock.now() + ms).toISOString()

test('an unpaid bank transfer holds the coupon for seven days, says so, and gives it back', async () => {
  await coupon('ONE')
  const held = isoAfter(7 * DAY)
  const made = await transfer('ada', 'ONE')
  expect([made.couponHeldUntil, made.expiresAt]).toEqual([held, held])
  expect(made.instructions).toContain('The coupon is held for you until 7 February 2026')
  desk.clock.advance(7 * DAY - MINUTE)
  const early = await buy('bob', 'ONE')
  expect([early.status, early.body.code]).toEqual([409, 'coupon_not_valid'])
  desk.clock.advance(2 * MINUTE)
  await waitFor(async () => (await verify('ada', made.reference)).status === 'expired')
  expect(await verify('ada', made.reference)).toMatchObject({ couponHeldUntil: null })
  expect(await uses('ONE')).toBe(0)
  expect((await buy('bob', 'ONE')).status).toBe(200)
  // What arrives too late pays for nothing, because the discount is gone.
  expect((await book(made._id, made.amount)).body.data).toMatchObject({ status: 'succeeded', settledTo: 'wallet' })
  expect([await uses('ONE'), await desk.wallet('ada')]).toEqual([1, 100_000 + made.amount])
})

test('a transfer that is paid in time uses the coupon', async () => {
  await coupon('IN-TIME')
  const made = await transfer('cyd', 'IN-TIME')
  desk.clock.advance(6 * DAY)
  expect((await book(made._id, made.amount)).body.data).toMatchObject({ settledTo: 'purpose', couponHeldUntil: null })
  expect((await as('cyd').call(billing.getSubscription)).body.data).toMatchObject({ plan: 'pro' })
  expect((await buy('ada', 'IN-TIME')).status).toBe(409)
  expect(await uses('IN-TIME')).toBe(1)
})

test('a hold is neither extended by more payments nor ended by one of them', async () => {
  await coupon('SHARED')
  const first = await transfer('ada', 'SHARED')
  desk.clock.advance(3 * DAY)
  const second = await transfer('ada', 'SHARED')
  expect(second.couponHeldUntil).toBe(first.couponHeldUntil)
  const card = await begin('ada', 'SHARED', 'stripe')
  const { couponHeldUntil, reference } = card.body.data.payment
  // The card has a day.
  expect(couponHeldUntil).toBe(isoAfter(DAY))
  desk.clock.advance(DAY + MINUTE)
  await waitFor(async () => (await verify('ada', reference)).status === 'expired')
  expect((await buy('bob', 'SHARED')).status).toBe(409)
  desk.clock.advance(3 * DAY)
  await waitFor(async () => (await verify('ada', second.reference)).status === 'expired')
  await waitFor(async () => (await uses('SHARED')) === 0)
  // Somebody who let it lapse cannot keep it from others again.
  const again = await transfer('ada', 'SHARED')
  expect(again.couponHeldUntil).toBe(isoAfter(HOUR))
  desk.clock.advance(HOUR + MINUTE)
  await waitFor(async () => (await uses('SHARED')) === 0)
  expect((await as('ada').call(upgradeCycles, { body: { planName: 'pro', couponCode: 'SHARED' } })).status).toBe(200)
  expect(await uses('SHARED')).toBe(1)
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
})

test('a coupon for any number of customers shortens no transfer', async () => {
  await coupon('ALL', 0)
  const made = await transfer('bob', 'ALL')
  expect([made.couponHeldUntil, made.expiresAt]).toEqual([null, isoAfter(30 * DAY)])
  expect(made.instructions).not.toContain('coupon')
})
