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
import { bookPayment } from '../../src/domains/money/payments/administration/operations.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'

/**
 * 50 requests of each writing operation at once. Requests that are identical and overlap are one purchase. One that comes
 * after another was settled is a new purchase, so what was paid must fit what was granted.
 */

let desk: BillingDesk

beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z', {
    env: { BANK_TRANSFER_INSTRUCTIONS: 'Example Ltd, DE00 0000 0000 0000 0000 00' },
  })
})
afterAll(() => desk?.stop())

const as = (name: string) => desk.world.as(name)
const subscription = async (name: string) => (await as(name).call(billing.getSubscription)).body.data
const succeeded = async (name: string) => (await desk.payments(name)).filter(({ status }) => status === 'succeeded')
const cyclesOf = async (name: string): Promise<{ status: string; transactionId: string }[]> =>
  (await as(name).call(billing.listBillingCycles, { query: { limit: 100 } })).body.data

/** @returns the statuses of the replies */
async function twins(name: string, operation: Parameters<ReturnType<typeof as>['call']>[0], options: object) {
  const replies = await Promise.all(Array.from({ length: 50 }, () => as(name).call(operation, options)))
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
  const wrong = replies.find(({ status }) => ![200, 201, 402, 409].includes(status))
  expect(wrong?.text).toBeUndefined()
  return replies.map(({ status }) => status)
}

const count = (statuses: readonly number[], wanted: number) => statuses.filter((status) => status === wanted).length

test('renewSubscription: each charge is one more cycle, and no cycle is paid twice', async () => {
  await desk.world.user('rita')
  await desk.topUp('rita', 1_900 * 4)
  await as('rita').call(upgradeSubscription, { body: { planName: 'starter' } })
  await twins('rita', renewSubscription, { body: { terms: 1 } })
  const paid = await succeeded('rita')
  const cycles = await cyclesOf('rita')
  expect(cycles.map(({ transactionId }) => transactionId).toSorted()).toEqual(paid.map(({ _id }) => _id).toSorted())
  expect(await desk.wallet('rita')).toBe(1_900 * (4 - paid.length))
})

test('addExtraAccounts: as many accounts as were paid', async () => {
  await desk.world.user('xena')
  await desk.topUp('xena', 1_900 + 300 * 5)
  await as('xena').call(upgradeSubscription, { body: { planName: 'starter' } })
  const statuses = await twins('xena', addExtraAccounts, { body: { count: 1 } })
  const { extraAccounts } = await subscription('xena')
  expect(count(statuses, 200)).toBeGreaterThan(0)
  expect(extraAccounts).toBe((await succeeded('xena')).length - 1)
  expect(await desk.wallet('xena')).toBe(300 * (5 - extraAccounts))
})

test('createCyclesFromTransaction: no cycle is added twice', async () => {
  await desk.world.user('pia')
  await desk.topUp('pia', 10_000)
  await as('pia').call(upgradeSubscription, { body: { planName: 'starter' } })
  const [paid] = await succeeded('pia')
  // As if the cycles of the payment had been lost.
  await desk.app.database.run('delete from billing_cycles where payment_id = $1', [paid?._id ?? ''])
  const body = { transactionId: paid?._id }
  const statuses = await twins('root', createCyclesFromTransaction, { body })
  expect(new Set(statuses).size).toBe(1)
  expect((await cyclesOf('pia')).length).toBeLessThanOrEqual(1)
  expect(await desk.wallet('pia')).toBe(10_000 - 1_900)
})

test('bookPayment: a transfer is booked once', async () => {
  await desk.world.user('bob')
  const body = { purpose: 'wallet', amount: 5_000, gateway: 'manual' }
  const begun = await as('bob').call('POST /api/payments/initialize', { body })
  const { payment } = begun.body.data
  const booking = { receivedAmount: 5_000, reason: 'Bank statement' }
  const statuses = await twins('root', bookPayment, { path: { id: payment._id }, body: booking })
  expect([count(statuses, 200), count(statuses, 409), await desk.wallet('bob')]).toEqual([1, 49, 5_000])
})

test('coupons: one is made of a code, and a customer uses it once', async () => {
  const made = await twins('root', createCoupon, { body: { code: 'TWINS', percent: 50, cycles: 1 } })
  expect([count(made, 201), count(made, 409)]).toEqual([1, 49])
  await desk.world.user('cora')
  await desk.topUp('cora', 10_000)
  await twins('cora', upgradeCycles, { body: { planName: 'starter', couponCode: 'twins' } })
  expect([(await succeeded('cora')).length, await desk.wallet('cora')]).toEqual([1, 10_000 - 950])
})
