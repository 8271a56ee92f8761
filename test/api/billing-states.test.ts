import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY } from '../../src/core/clock.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { renewSubscription, upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import type { Reply } from '../support/send.ts'

/**
 * Every state of a subscription, every way to pay, every moment and every call: what was charged, the subscription, its
 * cycles, the invoices and the reply agree, and a preview allows what a purchase settles.
 */

let desk: BillingDesk

beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z')
})
afterAll(() => desk?.stop())

const as = (name: string) => desk.world.as(name)
const current = async (name: string) => (await as(name).call(billing.getSubscription)).body.data

/** How a customer gets into each state. */
const STATES: Readonly<Record<string, (name: string) => Promise<void>>> = {
  free: async () => {},
  trialing: async (name) => {
    await as(name).call(billing.selectPlan, { body: { planName: 'starter' } })
  },
  'cancelled trial': async (name) => {
    await as(name).call(billing.selectPlan, { body: { planName: 'starter' } })
    await as(name).call(billing.cancelSubscription)
  },
  active: async (name) => {
    await desk.topUp(name, 1_900)
    await as(name).call(upgradeCycles, { body: { planName: 'starter' } })
  },
  cancelled: async (name) => {
    await desk.topUp(name, 1_900)
    await as(name).call(upgradeCycles, { body: { planName: 'starter' } })
    await as(name).call(billing.cancelSubscription)
  },
  past_due: async (name) => {
    await as(name).call(billing.selectPlan, { body: { planName: 'starter' } })
    await desk.saveCard(name, 'pm_card_chargeCustomerFail')
    await pass(name, 'at the end')
    await desk.advance(name)
  },
  expired: async (name) => {
    await as(name).call(billing.selectPlan, { body: { planName: 'starter' } })
    await pass(name, 'at the end')
    await desk.advance(name)
  },
}

const WAYS: Readonly<Record<string, (name: string) => Promise<void>>> = {
  nothing: async () => {},
  wallet: (name) => desk.topUp(name, 100_000),
  card: (name) => desk.saveCard(name),
  'declined card': (name) => desk.saveCard(name, 'pm_card_chargeCustomerFail'),
  'declined card and wallet': async (name) => {
    await desk.saveCard(name, 'pm_card_chargeCustomerFail')
    await desk.topUp(name, 100_000)
  },
}

type Moment = 'at once' | 'at the end' | 'long after the end'

async function pass(name: string, moment: Moment): Promise<void> {
  const { endDate } = await current(name)
  const end = Date.parse(endDate)
  const at = { 'at once': 0, 'at the end': end, 'long after the end': end + 60 * DAY }[moment]
  if (at > desk.clock.now()) desk.clock.advance(at - desk.clock.now())
}

const CALLS: Readonly<Record<string, (name: string) => Promise<Reply | undefined>>> = {
  schedule: async (name) => {
    // The first run may only mention the end of a trial.
    for (let run = 0; run < 3; run += 1) await desk.advance(name)
    return undefined
  },
  renew: (name) => as(name).call(renewSubscription, { body: { terms: 1 } }),
  upgrade: (name) => as(name).call(upgradeCycles, { body: { planName: 'pro' } }),
}

const PREVIEWS: Readonly<Record<string, object>> = { renew: { terms: 1 }, upgrade: { planName: 'pro' } }

interface Books {
  readonly paid: number
  readonly wallet: number
  readonly cycles: readonly { _id: string; kind: string; transactionId: string | null; endsAt: string }[]
  readonly payments: readonly {
    _id: string
    amount: number
    settledTo: string
    gateway: string
    receivedAmount: number
  }[]
}

async function books(name: string): Promise<Books> {
  const cycles = (await as(name).call(billing.listBillingCycles, { query: { limit: 100 } })).body.data
  const payments = (await desk.payments(name)).filter(({ status }) => status === 'succeeded') as unknown
  const paid = payments as Books['payments']
  return {
    cycles,
    payments: paid,
    wallet: await desk.wallet(name),
    paid: paid.reduce((sum, { receivedAmount }) => sum + receivedAmount, 0),
  }
}

/** The schedule acts at the end of a cycle, customers also before it. A declined card leaves the wallet to the schedule. */
const CASES = Object.keys(STATES).flatMap((state) =>
  Object.keys(CALLS).flatMap((call) => {
    const isSchedule = call === 'schedule'
    const ways = Object.keys(WAYS).filter((way) => isSchedule || way !== 'declined card and wallet')
    const moments = isSchedule ? (['at the end', 'long after the end'] as const) : (['at once', 'at the end'] as const)
    return ways.flatMap((way) => moments.map((moment) => [state, way, moment, call] as const))
  }),
)

let users = 0
const newName = () => {
  users += 1
  return `payer${users}`
}

test.each(CASES)('%s, paid by %s, %s: %s', async (state, way, moment, call) => {
  const name = newName()
  await desk.world.user(name)
  await STATES[state]?.(name)
  await WAYS[way]?.(name)
  await pass(name, moment)
  const before = { ...(await books(name)), subscription: await current(name) }
  const preview = PREVIEWS[call] && (await as(name).call(billing.previewProration, { body: PREVIEWS[call] }))
  const reply = await CALLS[call]?.(name)
  const after = { ...(await books(name)), subscription: await current(name) }
  const added = after.payments.filter(({ _id }) => before.payments.every((known) => known._id !== _id))
  const newCycles = after.cycles.filter(({ _id }) => before.cycles.every((known) => known._id !== _id))

  if (reply !== undefined) {
    expect([200, 402, 409]).toContain(reply.status)
    // A preview shows a price exactly when the purchase can be paid.
    expect([reply.status, preview?.status]).toEqual([reply.status, reply.status === 409 ? 409 : 200])
    if (reply.status !== 200) expect([added, after.wallet]).toEqual([[], before.wallet])
    if (reply.status === 200) {
      expect(after.subscription.status).toMatch(/^(active|cancelled)$/)
      expect(added.map(({ amount }) => amount)).toEqual([preview?.body.data.quote.total])
    }
    // A card that is declined is an answer: only the schedule takes the wallet then.
    const canPay = way === 'card' || (way === 'wallet' && state !== 'past_due')
    if (preview?.status === 200) expect(reply.status).toBe(canPay ? 200 : 402)
  }
  // Every charge pays for cycles, none goes to the wallet, and each has an invoice of its amount.
  for (const payment of added) {
    expect(payment.settledTo).toBe('purpose')
    expect(newCycles.map(({ transactionId }) => transactionId)).toContain(payment._id)
    const invoice = await desk.app.database.row<{ total: number }>('select total from invoices where payment_id = $1', [
      payment._id,
    ])
    expect(Number(invoice?.total)).toBe(payment.amount)
  }
  const fromWallet = added.filter(({ gateway }) => gateway === 'wallet').reduce((sum, { amount }) => sum + amount, 0)
  expect(after.wallet).toBe(before.wallet - fromWallet)
  if (added.length > 0) {
    expect(Date.parse(after.subscription.endDate)).toBeGreaterThanOrEqual(Date.parse(before.subscription.endDate))
    expect(after.subscription.status).not.toMatch(/^(trialing|past_due|expired)$/)
  }
  if (call === 'schedule' && (moment === 'at the end' || moment === 'long after the end')) {
    // Nobody stays on a trial, or on a plan whose time is over, without a charge that failed.
    expect(after.subscription.status).not.toBe('trialing')
    if (state === 'trialing' || state === 'active') {
      const unpaid = way === 'nothing' && state === 'trialing' ? 'expired' : 'past_due'
      const canPay = way !== 'nothing' && way !== 'declined card'
      expect(after.subscription.status).toBe(canPay ? 'active' : unpaid)
    }
  }
  expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
})
