import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MINUTE } from '../../src/core/clock.ts'
import type { StripeEvent } from '../../sandbox/stripe/state.ts'
import { startShop, type Shop } from '../support/payments.ts'

/** Webhooks at our endpoint that change nothing, and what administrators see of them. */

let shop: Shop

beforeAll(async () => {
  shop = await startShop()
  await shop.world.user('root', { admin: true })
})
afterAll(() => shop?.stop())

const request = (userId: string) => ({ userId, purpose: 'wallet' as const, input: { amount: 2_500 } })

let count = 0
async function paid() {
  count += 1
  const { id: userId } = await shop.world.user(`hook-${count}`)
  const begun = await shop.desk.charges.initialize(request(userId), { gateway: 'stripe' })
  await shop.stripe.pay(begun.clientSecret ?? '')
  return { userId, payment: begun.payment, event: shop.stripe.bank.state.events.at(-1) as StripeEvent }
}

/** An event as Stripe would send it, with changes. */
function changed(event: StripeEvent, changes: object, object: object = {}): StripeEvent & { id: string } {
  count += 1
  const data = { ...event.data, object: { ...event.data.object, ...object } }
  return { ...event, ...changes, id: `evt_changed_${count}`, data }
}

const statusOf = async (id: string) => (await shop.desk.transactions.find(shop.app.database, id))?.status

async function listed(outcome?: string) {
  const query = { limit: 100, ...(outcome !== undefined && { outcome }) }
  const reply = await shop.world.as('root').call('GET /api/payments/events', { query })
  return reply.body.data as {
    eventId: string
    outcome: string
    note: string | null
    deliveries: number
    payload: Record<string, unknown>
  }[]
}

async function everything() {
  const counts = await shop.app.database.row<{ entries: number; changes: number }>(
    'select (select count(*) from ledger_entries) as entries, (select count(*) from payment_changes) as changes',
  )
  return { ...counts, ...(await shop.books()) }
}

describe('a webhook that is not genuine is refused, and kept only for administrators', () => {
  test('without a signature, with another one, for another body, too old, or from the future', async () => {
    const { event, payment } = await paid()
    const before = await everything()
    const now = shop.clock.now()
    const other = shop.stripe.signed(changed(event, {})).signature
    const refused = [
      await shop.deliver(event, { signature: '' }),
      await shop.deliver(event, { signature: 't=1,v1=abc' }),
      await shop.deliver(event, { signature: other }),
      await shop.deliver(event, { at: now - 6 * MINUTE }),
      await shop.deliver(event, { at: now + 6 * MINUTE }),
    ]
    expect(refused.map(({ body, status }) => [status, body.code])).toEqual(refused.map(() => [400, 'webhook_invalid']))
    expect([await everything(), await statusOf(payment._id)]).toEqual([before, 'pending'])
    const kept = (await listed('refused')).filter(({ payload }) => String(payload['body']).includes(event.id))
    expect(kept).toMatchObject([{ type: 'unknown', deliveries: refused.length, paymentId: null }])
    expect(kept[0]?.payload).toMatchObject({ signature: '' })
    const stored = [...(await listed()), ...(await listed('ignored')), ...(await listed('applied'))]
    expect(stored.filter(({ eventId }) => eventId === event.id)).toEqual([])
    // At the edge of the tolerance it is taken.
    expect((await shop.deliver(event, { at: now - 4 * MINUTE })).status).toBe(200)
    expect(await statusOf(payment._id)).toBe('succeeded')
  })

  test('a flood of them keeps the newest, cut off, and no more than some in a minute', async () => {
    const forged = (number: number) => {
      const body = { id: `evt_forged_${number}`, zero: '\0', more: '😀'.repeat(20_000) }
      return shop.deliver(body, { signature: 't=1,v1=abc' })
    }
    shop.clock.advance(2 * MINUTE)
    for (let number = 0; number < 130; number += 1) {
      if (number < 120 && number % 20 === 0) shop.clock.advance(MINUTE)
      expect((await forged(number)).status).toBe(400)
    }
    const rows = await shop.app.database.rows<{ payload: { body: string } }>(
      `select payload from gateway_events where outcome = 'refused' order by id`,
    )
    expect(rows).toHaveLength(100)
    const numbers = rows.map(({ payload }) => Number(/evt_forged_(\d+)/.exec(payload.body)?.[1]))
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index + 20))
    expect(Math.max(...rows.map(({ payload }) => JSON.stringify(payload).length))).toBeLessThan(13_000)
  })
})

describe('a webhook changes nothing, and is kept for administrators', () => {
  const kept = async (event: StripeEvent & { id: string }, outcome: string, note: string | null) => {
    const before = await everything()
    expect((await shop.deliver(event)).status).toBe(200)
    expect((await shop.deliver(event)).status).toBe(200)
    expect(await everything()).toEqual(before)
    const [found] = (await listed(outcome)).filter(({ eventId }) => eventId === event.id)
    expect(found).toMatchObject({ outcome, deliveries: 2 })
    if (note !== null) expect(found?.note).toContain(note)
    const inDefault = (await listed()).some(({ eventId }) => eventId === event.id)
    expect(inDefault).toBe(outcome !== 'ignored')
  }

  test('of another account', async () => {
    const { event, payment } = await paid()
    await kept(changed(event, { account: 'acct_other' }), 'foreign', 'another account')
    expect(await statusOf(payment._id)).toBe('pending')
  })

  test('of the other mode', async () => {
    const { event, payment } = await paid()
    await kept(changed(event, { livemode: true }), 'foreign', 'another account or mode')
    expect(await statusOf(payment._id)).toBe('pending')
  })

  test('of another program of the same account', async () => {
    const { event } = await paid()
    await kept(changed(event, {}, { id: 'pi_of_another', metadata: {} }), 'foreign', 'not made by this server')
  })

  test('about a payment that does not exist', async () => {
    const { event } = await paid()
    const id = '01890000-0000-7000-8000-000000000000'
    const metadata = { ...(event.data.object as { metadata?: object }).metadata }
    const names = Object.keys(metadata)
    const unknown = Object.fromEntries(names.map((name) => [name, id]))
    await kept(changed(event, {}, { id: 'pi_unknown', metadata: unknown }), 'unknown', id)
  })

  test('that is older than what is known', async () => {
    const { event, payment, userId } = await paid()
    expect((await shop.deliver(event)).status).toBe(200)
    expect(await statusOf(payment._id)).toBe('succeeded')
    const older = changed(event, { type: 'payment_intent.processing' }, { status: 'processing' })
    await kept(older, 'ignored', null)
    const created = changed(event, { type: 'payment_intent.created' }, { status: 'requires_payment_method' })
    await kept(created, 'ignored', null)
    expect([await statusOf(payment._id), await shop.balance(userId)]).toEqual(['succeeded', 2_500])
  })

  test('that contradicts the gateway', async () => {
    const { userId } = await paid()
    const open = await shop.desk.charges.initialize(request(userId), { gateway: 'stripe' })
    const [id = ''] = (open.clientSecret ?? '').split('_secret_')
    const { event } = await paid()
    const metadata = (shop.stripe.bank.intent(id) as unknown as { metadata: object }).metadata
    await kept(changed(event, {}, { id, metadata }), 'contradicting', 'the payment is pending')
    expect(await statusOf(open.payment._id)).toBe('pending')
  })

  test('that names another intent for a payment', async () => {
    const [one, two] = [await paid(), await paid()]
    const { metadata } = one.event.data.object as { metadata?: object }
    const claimed = changed(one.event, {}, { id: 'pi_other_intent', metadata })
    await kept(claimed, 'contradicting', 'not pi_other_intent')
    expect([await statusOf(one.payment._id), await statusOf(two.payment._id)]).toEqual(['pending', 'pending'])
  })
})

test('a webhook that a stopped process has left is taken up by the sweeper', async () => {
  const { event, payment, userId } = await paid()
  shop.desk.steps.onStep = (step) => {
    if (step === 'event.written') throw new Error('killed')
  }
  await expect(shop.receive(event)).rejects.toThrow('killed')
  shop.desk.steps.onStep = undefined
  const left = async () => (await listed('received')).map(({ eventId }) => eventId)
  expect(await left()).toContain(event.id)
  // Not at once, because it could be at work elsewhere.
  await shop.desk.events.resume()
  expect([await left(), await statusOf(payment._id)]).toEqual([expect.arrayContaining([event.id]), 'pending'])
  shop.clock.advance(3 * MINUTE)
  await Promise.all([shop.desk.events.resume(), shop.desk.events.resume()])
  expect(await left()).not.toContain(event.id)
  expect([await statusOf(payment._id), await shop.balance(userId)]).toEqual(['succeeded', 2_500])
  expect((await listed('applied')).map(({ eventId }) => eventId)).toContain(event.id)
})
