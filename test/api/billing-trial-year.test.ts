import { afterAll, beforeAll, expect, test } from 'vitest'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { addMonths } from '../../src/domains/money/plans/index.ts'
import { DAY } from '../../src/core/clock.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { attachedXml, brokenRules, serviceDays } from '../support/en16931.ts'

/**
 * A year of a customer whose trial ends normally, for each way to pay and for sign-ups on days that months do not have:
 * each month has one charge, one cycle and one invoice with its period, and nothing else happens.
 */

let desk: BillingDesk
beforeAll(async () => {
  desk = await startBillingDesk('2026-01-10T10:00:00Z', {
    env: { SELLER_COUNTRY: 'DE', SELLER_VAT_NUMBER: 'DE136695976' },
  })
})
afterAll(() => desk?.stop())

const NET = 1_900
const TOTAL = 2_261
const TRIAL_DAYS = 14
const MONTHS = 12

interface Year {
  readonly name: string
  readonly way: 'card' | 'wallet'
  /** When the trial begins. */
  readonly start: string
}

/** The anchor is the end of the trial: the 24th, the 31st, 29 February, and midnight of the 1st. */
const YEARS: readonly Year[] = [
  { name: 'ada', way: 'card', start: '2026-01-10T10:00:00Z' },
  { name: 'bob', way: 'wallet', start: '2027-01-17T23:59:59Z' },
  { name: 'cleo', way: 'card', start: '2028-02-15T06:30:00Z' },
  { name: 'dan', way: 'wallet', start: '2029-03-18T00:00:00Z' },
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
  'by $way, with a trial from $start',
  async ({ name, start, way }) => {
    if (desk.clock.now() < Date.parse(start)) desk.advanceTo(start)
    const begin = desk.clock.now()
    await desk.world.user(name)
    expect((await as(name).call(billing.selectPlan, { body: { planName: 'starter' } })).status).toBe(200)
    if (way === 'card') await desk.saveCard(name)
    else await desk.topUp(name, TOTAL * MONTHS)
    const anchor = begin + TRIAL_DAYS * DAY

    await until(name, anchor - 1_000)
    expect(await current(name)).toMatchObject({ status: 'trialing', creditsPerMonth: 50 })
    expect([await desk.payments(name), await invoicesOf(name)]).toEqual([[], []])

    for (let month = 0; month < MONTHS; month += 1) {
      const [from, to] = [addMonths(anchor, month), addMonths(anchor, month + 1)]
      await until(name, from)
      // Running again charges nothing.
      await desk.advance(name)
      expect(await current(name)).toMatchObject({
        status: 'active',
        plan: 'starter',
        startDate: new Date(from).toISOString(),
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
        amount: TOTAL,
        gateway: way === 'card' ? 'stripe' : 'wallet',
      })
      const cycles = await cyclesOf(name)
      expect(cycles).toHaveLength(month + 2)
      expect(cycles[0]).toMatchObject({
        kind: 'paid',
        status: 'current',
        startsAt: new Date(from).toISOString(),
        endsAt: new Date(to).toISOString(),
        netAmount: NET,
        transactionId: payments[0]?._id,
      })
      const invoices = await invoicesOf(name)
      expect(invoices).toHaveLength(month + 1)
      expect(invoices[0]).toMatchObject({
        kind: 'invoice',
        net: NET,
        total: TOTAL,
        transactionId: payments[0]?._id,
        startsAt: new Date(from).toISOString(),
        endsAt: new Date(to).toISOString(),
      })
      expect(await desk.wallet(name)).toBe(way === 'card' ? 0 : TOTAL * (MONTHS - 1 - month))
      if (!PRINTED.includes(month)) continue
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
