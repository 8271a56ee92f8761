import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCoupon } from '../../src/domains/money/billing/coupon-operations.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { addExtraAccounts, upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'

/** A year of a customer in Finland, where VAT rises from 24 % to 25.5 % on 1 September 2024. */

let desk: BillingDesk
beforeAll(async () => {
  desk = await startBillingDesk('2024-01-31T10:00:00Z', { env: { SELLER_COUNTRY: 'FI' } })
  await desk.world.user('ada')
  const body = {
    kind: 'person',
    name: 'Ada',
    street: 'Aleksanterinkatu 1',
    postalCode: '00100',
    city: 'Helsinki',
    country: 'FI',
    vatNumber: null,
  }
  const saved = await ada('PUT /api/billing/profile', { body })
  expect(saved.status, saved.text).toBe(200)
})
afterAll(() => desk?.stop())

const ada = (operation: Parameters<ReturnType<BillingDesk['world']['as']>['call']>[0], options: object = {}) =>
  desk.world.as('ada').call(operation, options)
const subscription = async () => (await ada(billing.getSubscription)).body.data
const mail = (subject: RegExp) => desk.app.outbox.newest('ada@example.com', subject)

/** The newest invoice with its lines, and whether the books are right. */
async function newestInvoice() {
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
  const row = await desk.app.database.row<{
    kind: string
    net: number
    tax: number
    total: number
    content: { lines: { description: string; amount: number }[]; taxes: { description: string; amount: number }[] }
  }>('select kind, net, tax, total, content from invoices order by id desc limit 1')
  if (row === undefined) return undefined
  const { content, kind, net, tax, total } = row
  const lines = content.lines.map(({ amount, description }) => [description, amount])
  return { kind, lines, taxes: content.taxes.map(({ amount, description }) => [description, amount]), net, tax, total }
}

const invoiceCount = async () => (await ada('GET /api/billing/invoices')).body.data.length

test('a year of a customer: every balance and every line of an invoice is explained', async () => {
  // 31 January: a trial, with a card that will be declined.
  await ada(billing.selectPlan, { body: { planName: 'starter' } })
  await desk.saveCard('ada', 'pm_card_chargeCustomerFail')
  desk.advanceTo('2024-02-11T10:00:00Z')
  await desk.advance('ada')
  await mail(/^Your trial of Crier Starter ends on 14 February 2024$/)
  expect(await newestInvoice()).toBeUndefined()

  // 14 February: the card is declined, today and a day later. Nothing was taken, and the plan stays.
  desk.advanceTo('2024-02-14T10:00:00Z')
  await desk.advance('ada')
  expect(await subscription()).toMatchObject({
    status: 'past_due',
    plan: 'starter',
    nextChargeAt: '2024-02-15T10:00:00.000Z',
  })
  const failure = await mail(/^Your payment for Crier failed$/)
  expect(failure.text).toContain('We will try again on 15 February 2024')
  desk.advanceTo('2024-02-15T10:00:00Z')
  await desk.advance('ada')
  expect(await subscription()).toMatchObject({ status: 'past_due', nextChargeAt: '2024-02-17T10:00:00.000Z' })
  expect((await ada(upgradeCycles, { body: { planName: 'pro' } })).status).toBe(409)
  expect(await invoiceCount()).toBe(0)
  expect(await desk.house()).toEqual({})

  // 17 February: another card is charged. The cycle begins on the 14th, when the trial ended.
  await desk.saveCard('ada')
  desk.advanceTo('2024-02-17T10:00:00Z')
  await desk.advance('ada')
  expect(await subscription()).toMatchObject({
    status: 'active',
    startDate: '2024-02-14T10:00:00.000Z',
    endDate: '2024-03-14T10:00:00.000Z',
  })
  expect(await newestInvoice()).toEqual({
    kind: 'invoice',
    lines: [['Starter, one month, 14 Feb 2024 to 14 Mar 2024', 1_900]],
    taxes: [['VAT 24 % (Finland)', 456]],
    net: 1_900,
    tax: 456,
    total: 2_356,
  })
  expect(await desk.house()).toEqual({ 'gateway:stripe': -2_356, revenue: 1_900, tax: 456 })

  // 29 February: Pro for the remaining 14 of 29 days, with 20 % off what is bought.
  desk.advanceTo('2024-02-29T10:00:00Z')
  const coupon = { code: 'LEAP', percent: 20, cycles: 1, maxUses: 1 }
  expect((await desk.world.as('root').call(createCoupon, { body: coupon })).status).toBe(201)
  const wish = { planName: 'pro', couponCode: 'leap' }
  const preview = await ada(billing.previewProration, { body: wish })
  expect(preview.status, preview.text).toBe(200)
  const upgraded = await ada(upgradeCycles, { body: wish })
  expect(upgraded.status, upgraded.text).toBe(200)
  const toEnd = '29 Feb 2024, 10:00:00 to 14 Mar 2024, 10:00:00 UTC'
  expect(await newestInvoice()).toEqual({
    kind: 'invoice',
    lines: [
      [`Pro, ${toEnd}`, 2_365],
      [`Unused time of Starter, ${toEnd}`, -917],
      ['Coupon LEAP (20 %)', -473],
    ],
    taxes: [['VAT 24 % (Finland)', 234]],
    net: 975,
    tax: 234,
    total: 1_209,
  })
  expect(preview.body.data.quote).toMatchObject({ net: 975, tax: 234, total: 1_209 })
  expect(await subscription()).toMatchObject({ plan: 'pro', endDate: '2024-03-14T10:00:00.000Z' })

  // 7 March: two more accounts for 7 of 29 days. The discount of this cycle applies to them, too.
  desk.advanceTo('2024-03-07T10:00:00Z')
  expect((await ada(addExtraAccounts, { body: { count: 2 } })).body.data).toMatchObject({ extraAccounts: 2 })
  const rest = '7 Mar 2024, 10:00:00 to 14 Mar 2024, 10:00:00 UTC'
  expect(await newestInvoice()).toMatchObject({
    lines: [
      [`Pro, ${rest}`, 1_183],
      [`2 extra social accounts, ${rest}`, 145],
      [`Unused time of Pro, ${rest}`, -946],
      ['Coupon LEAP (20 %)', -266],
    ],
    net: 116,
    tax: 28,
    total: 144,
  })
  expect(await desk.app.composition.services.plans.limitsOf(desk.world.id('ada'))).toMatchObject({ socialAccounts: 52 })

  // 14 March: the coupon covered one cycle.
  desk.advanceTo('2024-03-14T10:00:00Z')
  await desk.advance('ada')
  expect(await newestInvoice()).toMatchObject({
    lines: [
      ['Pro, one month, 14 Mar 2024 to 14 Apr 2024', 4_900],
      ['2 extra social accounts, one month, 14 Mar 2024 to 14 Apr 2024', 600],
    ],
    net: 5_500,
    tax: 1_320,
    total: 6_820,
  })

  // 14 April: the smaller plan and one account less.
  await ada(billing.downgradeSubscription, { body: { planName: 'starter' } })
  await ada(billing.removeExtraAccounts, { body: { count: 1 } })
  expect(await subscription()).toMatchObject({ plan: 'pro', nextPlan: 'starter', extraAccounts: 2 })
  desk.advanceTo('2024-04-14T10:00:00Z')
  await desk.advance('ada')
  expect(await newestInvoice()).toMatchObject({ net: 2_200, tax: 528, total: 2_728 })
  expect(await subscription()).toMatchObject({ plan: 'starter', nextPlan: null, extraAccounts: 1 })

  // 20 April: a part is paid back, with its tax.
  desk.advanceTo('2024-04-20T10:00:00Z')
  const before = await desk.house()
  const [last] = await desk.payments('ada')
  const refund = await desk.world.as('root').call('POST /api/payments/{id}/refund', {
    path: { id: last?._id ?? '' },
    body: { amount: 1_240, reason: 'Publishing was down for a day' },
  })
  expect(refund.status, refund.text).toBe(201)
  expect(await newestInvoice()).toMatchObject({ kind: 'credit_note', net: 1_000, tax: 240, total: 1_240 })
  const afterwards = await desk.house()
  expect((afterwards['gateway:stripe'] ?? 0) - (before['gateway:stripe'] ?? 0)).toBe(1_240)
  expect(await subscription()).toMatchObject({ status: 'active', plan: 'starter' })

  // 14 May and 14 August: cycles of three months.
  expect((await ada(billing.setRenewalTerm, { body: { term: 'quarter' } })).status).toBe(200)
  for (const [due, end] of [
    ['2024-05-14T10:00:00Z', '2024-08-14T10:00:00.000Z'],
    ['2024-08-14T10:00:00Z', '2024-11-14T10:00:00.000Z'],
  ] as const) {
    desk.advanceTo(due)
    await desk.advance('ada')
    expect(await newestInvoice()).toMatchObject({
      taxes: [['VAT 24 % (Finland)', 1_426]],
      net: 5_940,
      tax: 1_426,
      total: 7_366,
    })
    expect(await subscription()).toMatchObject({ endDate: end })
  }

  // 1 October: VAT has risen. The change is taxed with the new rate.
  desk.advanceTo('2024-10-01T10:00:00Z')
  expect((await ada(upgradeCycles, { body: { planName: 'pro' } })).status).toBe(200)
  const autumn = '1 Oct 2024, 10:00:00 to 14 Nov 2024, 10:00:00 UTC'
  expect(await newestInvoice()).toEqual({
    kind: 'invoice',
    lines: [
      [`Pro, ${autumn}`, 6_328],
      [`1 extra social account, ${autumn}`, 387],
      [`Unused time of Starter with 1 extra social account, ${autumn}`, -2_841],
    ],
    taxes: [['VAT 25.5 % (Finland)', 988]],
    net: 3_874,
    tax: 988,
    total: 4_862,
  })

  // 14 November: cancelled before, so the plan ends. Nothing was charged after that.
  await ada(billing.cancelSubscription)
  const count = await invoiceCount()
  desk.advanceTo('2024-11-14T10:00:00Z')
  await desk.advance('ada')
  expect(await subscription()).toMatchObject({ status: 'expired', plan: 'free', extraAccounts: 0 })
  await mail(/^Your Crier Pro plan has ended$/)
  expect(await invoiceCount()).toBe(count)

  // The books agree with the invoices.
  const sums = await desk.app.database.row<{ net: number; tax: number; total: number }>(
    `select sum(case kind when 'invoice' then net else -net end)::bigint as net,
            sum(case kind when 'invoice' then tax else -tax end)::bigint as tax,
            sum(case kind when 'invoice' then total else -total end)::bigint as total from invoices`,
  )
  const { 'gateway:stripe': held = 0, refunds = 0, revenue = 0, tax } = await desk.house()
  expect({ net: revenue + refunds, tax, total: -held }).toEqual(sums)
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
})
