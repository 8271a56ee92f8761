import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCoupon } from '../../src/domains/money/billing/coupon-operations.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { renewSubscription } from '../../src/domains/money/billing/purchase-operations.ts'
import { addMonths } from '../../src/domains/money/plans/index.ts'
import { DAY } from '../../src/core/clock.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { attachedXml, brokenRules, serviceDays } from '../support/en16931.ts'

/**
 * A year of a customer whose trial ends normally, for each way to pay and for sign-ups on days that months do not have:
 * each month has one charge, one cycle and one invoice with its period, and nothing else happens. Some pay one of the
 * cycles ahead with a coupon of one cycle, which takes nothing off the others.
 */

let desk: BillingDesk
beforeAll(async () => {
  desk = await startBillingDesk('2026-01-10T10:00:00Z', {
    env: { SELLER_COUNTRY: 'DE', SELLER_VAT_NUMBER: 'DE136695976' },
  })
  const body = { code: 'HALF', percent: 50, cycles: 1 }
  expect((await desk.world.as('root').call(createCoupon, { body })).status).toBe(201)
})
afterAll(() => desk?.stop())

const PRICE = { net: 1_900, total: 2_261 }
/** Half of it, with 19 % rounded to even. */
const HALF = { net: 950, total: 1_130 }
const TRIAL_DAYS = 14
/** How long before its beginning a cycle is paid ahead. */
const AHEAD = 4 * DAY
const MONTHS = 12

interface Year {
  readonly name: string
  readonly way: 'card' | 'wallet'
  /** When the trial begins. */
  readonly start: string
  /** The month that is paid some days ahead, with the coupon. */
  readonly coupon?: number
}

/** The anchor is the end of the trial: the 24th, the 31st, 29 February, and midnight of the 1st. */
const YEARS: readonly Year[] = [
  { name: 'ada', way: 'card', start: '2026-01-10T10:00:00Z' },
  { name: 'bob', way: 'wallet', start: '2027-01-17T23:59:59Z' },
  { name: 'cleo', way: 'card', start: '2028-02-15T06:30:00Z' },
  { name: 'dan', way: 'wallet', start: '2029-03-18T00:00:00Z' },
  { name: 'eli', way: 'card', start: '2030-05-01T12:00:00Z', coupon: 0 },
  { name: 'fay', way: 'wallet', start: '2031-08-20T18:15:00Z', coupon: 5 },
]
/** Months whose document is looked at. The list of invoices has the same period each month. */
const PRINTED = [0, 1, 11]

const as = (name: string) => desk.world.as(name)
const current = async (name: string) => (await as(name).call(billing.getSubscription)).body.data
const cyclesOf = async (name: string) =>
  (await as(name).call(billing.listBillingCycles, { query: { limit: 100 } })).body.data
const invoicesOf = async (name: string) =>
  (await as(name).call('GET /api/billing/invoices', { query: { limit: 100 } })).body.data

async function xmlOf(name: string, id: string): Promise<string> {
  const headers = { 'X-API-Key': desk.world.key(name) }
  const reply = await fetch(`${desk.app.url}/api/billing/invoices/${id}/pdf`, { headers })
  return attachedXml(Buffer.from(await reply.arrayBuffer()))
}

const compact = (at: number) => new Date(at).toISOString().slice(0, 10).replaceAll('-', '')

/** The schedule runs several times a month, and at the moment itself. */
async function until(name: string, time: number): Promise<void> {
  while (desk.clock.now() < time) {
    desk.clock.advance(Math.min(5 * DAY, time - desk.clock.now()))
    await desk.advance(name)
  }
}

/** The years follow each other, because there is one clock. */
test.each(YEARS)(
  'by $way, with a trial from $start and a coupon in month $coupon',
  async ({ coupon, name, start, way }) => {
    const priceOf = (month: number) => (month === coupon ? HALF : PRICE)
    const months = Array.from({ length: MONTHS }, (_, month) => month)
    const costOf = (some: readonly number[]) => some.reduce((sum, month) => sum + priceOf(month).total, 0)
    if (desk.clock.now() < Date.parse(start)) desk.advanceTo(start)
    const begin = desk.clock.now()
    await desk.world.user(name)
    expect((await as(name).call(billing.selectPlan, { body: { planName: 'starter' } })).status).toBe(200)
    if (way === 'card') await desk.saveCard(name)
    else await desk.topUp(name, costOf(months))
    const anchor = begin + TRIAL_DAYS * DAY

    await until(name, anchor - (coupon === 0 ? AHEAD : 1_000))
    expect(await current(name)).toMatchObject({ status: 'trialing', creditsPerMonth: 50 })
    expect([await desk.payments(name), await invoicesOf(name)]).toEqual([[], []])

    for (const month of months) {
      const [from, to] = [addMonths(anchor, month), addMonths(anchor, month + 1)]
      const { net, total } = priceOf(month)
      if (month === coupon) {
        await until(name, from - AHEAD)
        const body = { terms: 1, couponCode: 'half' }
        const preview = await as(name).call(billing.previewProration, { body })
        expect(preview.body.data).toMatchObject({
          startsAt: new Date(from).toISOString(),
          endsAt: new Date(to).toISOString(),
          quote: { net, total, discount: PRICE.net - net },
        })
        expect((await as(name).call(renewSubscription, { body })).status).toBe(200)
      }
      await until(name, from)
      // Running again charges nothing.
      await desk.advance(name)
      expect(await current(name)).toMatchObject({
        status: 'active',
        plan: 'starter',
        // A cycle that was paid ahead extends the period before it.
        startDate: new Date(month !== coupon ? from : month === 0 ? begin : addMonths(anchor, month - 1)).toISOString(),
        endDate: new Date(to).toISOString(),
        nextChargeAt: new Date(to).toISOString(),
        creditsPerMonth: 250,
        creditsRemaining: 250,
      })
      const payments = await desk.payments(name)
      expect(payments).toHaveLength(month + 1)
      expect(payments[0]).toMatchObject({
        status: 'succeeded',
        settledTo: 'purpose',
        amount: total,
        gateway: way === 'card' ? 'stripe' : 'wallet',
      })
      const cycles = await cyclesOf(name)
      expect(cycles).toHaveLength(month + 2)
      expect(cycles[0]).toMatchObject({
        kind: 'paid',
        status: 'current',
        startsAt: new Date(from).toISOString(),
        endsAt: new Date(to).toISOString(),
        netAmount: net,
        transactionId: payments[0]?._id,
      })
      const invoices = await invoicesOf(name)
      expect(invoices).toHaveLength(month + 1)
      expect(invoices[0]).toMatchObject({
        kind: 'invoice',
        net,
        total,
        transactionId: payments[0]?._id,
        startsAt: new Date(from).toISOString(),
        endsAt: new Date(to).toISOString(),
      })
      expect(await desk.wallet(name)).toBe(way === 'card' ? 0 : costOf(months.slice(month + 1)))
      if (!PRINTED.includes(month) && month !== coupon) continue
      const xml = await xmlOf(name, invoices[0]._id)
      expect(brokenRules(xml)).toEqual([])
      expect(serviceDays(xml)).toEqual([compact(from), compact(to - 1)])
    }
    expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })

    // Without money, the next month is overdue; a week later the free plan applies. A card goes on.
    await until(name, addMonths(anchor, MONTHS))
    expect((await current(name)).status).toBe(way === 'card' ? 'active' : 'past_due')
    if (way === 'card') expect((await as(name).call(billing.cancelSubscription)).status).toBe(200)
    await until(name, addMonths(anchor, MONTHS + 1))
    expect(await current(name)).toMatchObject({ status: 'expired', plan: 'free' })
    expect(await invoicesOf(name)).toHaveLength(way === 'card' ? MONTHS + 1 : MONTHS)
  },
  300_000,
)
