import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY } from '../../src/core/clock.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import {
  addExtraAccounts,
  renewSubscription,
  upgradeCycles,
  upgradeSubscription,
} from '../../src/domains/money/billing/purchase-operations.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { seedBillingProfile } from '../support/seed.ts'

/** Purchases of buyers who have not said who the invoice is for, and the language of their invoices. */

let desk: BillingDesk
beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z', {
    env: { SELLER_COUNTRY: 'DE', SELLER_VAT_NUMBER: 'DE136695976', BANK_TRANSFER_INSTRUCTIONS: 'Example Ltd, DE00' },
  })
})
afterAll(() => desk?.stop())

const as = (name: string) => desk.world.as(name)
const current = async (name: string) => (await as(name).call(billing.getSubscription)).body.data
const stranger = (name: string) => desk.world.user(name, { isBuyer: false })
const complete = async (name: string, country: string) =>
  seedBillingProfile(desk.app, await desk.world.user(name), country)

const NEEDED = {
  code: 'billing_profile_needed',
  details: { missing: ['country'], path: 'PUT /api/billing/profile', page: '/billing' },
}
const STARTER = { purpose: 'subscription', planName: 'starter' }
const CREDITS = { purpose: 'credits', creditCount: 100 }

/** Every way to buy something. */
const WAYS: readonly (readonly [Parameters<ReturnType<typeof as>['call']>[0], object])[] = [
  [upgradeSubscription, { planName: 'starter' }],
  [upgradeCycles, { planName: 'starter' }],
  ['POST /api/payments/wallet', STARTER],
  ['POST /api/payments/wallet', CREDITS],
  ['POST /api/payments/charge', STARTER],
  ['POST /api/payments/charge', CREDITS],
  ['POST /api/payments/initialize', { ...STARTER, gateway: 'stripe' }],
  ['POST /api/payments/initialize', { ...CREDITS, gateway: 'manual' }],
]

describe('without a country', () => {
  test('nothing is sold, and a preview says what is missing and no tax', async () => {
    await stranger('ada')
    await desk.saveCard('ada')
    await desk.topUp('ada', 10_000)
    for (const [operation, body] of WAYS) {
      const reply = await as('ada').call(operation, { body })
      expect([body, reply.status]).toEqual([body, 409])
      expect(reply.body).toMatchObject(NEEDED)
    }
    expect([await desk.payments('ada'), await desk.wallet('ada')]).toEqual([[], 10_000])
    const body = { planName: 'starter' }
    const preview = async () => (await as('ada').call(billing.previewProration, { body })).body.data
    expect(await preview()).toMatchObject({
      missingProfileFields: ['country'],
      quote: { net: 1_900, taxes: [], tax: 0, total: 1_900 },
    })
    await complete('ada', 'FR')
    expect(await preview()).toMatchObject({ missingProfileFields: [], quote: { net: 1_900, tax: 380, total: 2_280 } })
    expect((await as('ada').call(upgradeCycles, { body })).status).toBe(200)
    expect(await desk.payments('ada')).toMatchObject([{ amount: 2_280 }])
    // Money for the wallet is no sale.
    const topUp = { purpose: 'wallet', amount: 1_000, currency: 'USD', gateway: 'manual' }
    await stranger('bea')
    expect((await as('bea').call('POST /api/payments/initialize', { body: topUp })).status).toBe(201)
  })

  test('a business needs its address, too', async () => {
    await stranger('cid')
    await desk.topUp('cid', 10_000)
    const body = { kind: 'business', name: '', street: '', postalCode: '', city: '', country: 'DE', vatNumber: null }
    await as('cid').call('PUT /api/billing/profile', { body })
    const refused = await as('cid').call(upgradeCycles, { body: { planName: 'starter' } })
    expect(refused.body).toMatchObject({
      code: 'billing_profile_needed',
      details: { missing: ['name', 'street', 'city'] },
    })
  })

  test('a trial with a card becomes overdue with the reason, and is charged once the profile is complete', async () => {
    const { email } = await stranger('dora')
    await as('dora').call(billing.selectPlan, { body: { planName: 'starter' } })
    await desk.saveCard('dora')
    desk.clock.advance(11 * DAY)
    await desk.advance('dora')
    expect((await desk.app.outbox.newest(email, /^Your trial/)).text).toContain('Add the address for the invoice')
    desk.clock.advance(3 * DAY)
    await desk.advance('dora')
    expect(await current('dora')).toMatchObject({ status: 'past_due', plan: 'starter' })
    expect((await desk.app.outbox.newest(email, /failed/)).text).toContain('Your invoice address is not complete.')
    expect(await desk.payments('dora')).toEqual([])
    expect((await as('dora').call(renewSubscription, { body: { terms: 1 } })).body).toMatchObject(NEEDED)
    await complete('dora', 'AT')
    desk.clock.advance(DAY)
    await desk.advance('dora')
    expect(await current('dora')).toMatchObject({ status: 'active' })
    expect(await desk.payments('dora')).toMatchObject([{ status: 'succeeded', amount: 2_280 }])
    expect((await as('dora').call(addExtraAccounts, { body: { count: 1 } })).status).toBe(200)
  })

  test('a trial without any way to pay simply ends', async () => {
    await stranger('eva')
    await as('eva').call(billing.selectPlan, { body: { planName: 'starter' } })
    desk.clock.advance(14 * DAY)
    for (let runs = 0; runs < 2; runs += 1) await desk.advance('eva')
    expect(await current('eva')).toMatchObject({ status: 'expired', plan: 'free' })
  })
})

describe('the language of an invoice', () => {
  async function download(headers: Record<string, string>) {
    const { data } = (await as('gus').call('GET /api/billing/invoices')).body
    const reply = await fetch(`${desk.app.url}/api/users/me/transactions/${data[0].transactionId}/invoice`, {
      headers: { 'X-API-Key': desk.world.key('gus'), ...headers },
    })
    expect([reply.status, reply.headers.get('vary')]).toEqual([200, expect.stringContaining('Accept-Language')])
    return reply.headers.get('content-language')
  }

  test('is that of the request, or else that of the buyer', async () => {
    await desk.world.user('gus')
    await desk.topUp('gus', 10_000)
    await as('gus').call(upgradeCycles, { body: { planName: 'starter' } })
    expect(await download({})).toBe('en')
    expect(await download({ 'Accept-Language': 'de-AT,de;q=0.9,en;q=0.8' })).toBe('de')
    const saved = await as('gus').call('PATCH /api/users/me', { body: { locale: 'de-CH' } })
    expect(saved.status, saved.text).toBe(200)
    for (const [asked, language] of [
      [undefined, 'de'],
      ['*', 'de'],
      ['fr, it;q=0.5', 'de'],
      ['en-GB', 'en'],
      ['de;q=0.1, en', 'en'],
      [';;q=nonsense', 'de'],
    ] as const) {
      const headers = asked === undefined ? {} : { 'Accept-Language': asked }
      expect([asked, await download(headers)]).toEqual([asked, language])
    }
  })
})
