import { Stripe } from 'stripe'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { FakeStripe } from './server.ts'

/** The fake, as Stripe's own SDK with its own HTTP client sees it: a foreign client that knows the real service. */

const clock = new ManualClock()
let fake: FakeStripe
let stripe: Stripe
let customer: string

beforeAll(async () => {
  fake = await FakeStripe.start({ clock })
  const { hostname, port } = new URL(fake.url)
  stripe = new Stripe(fake.secretKey, { host: hostname, port: Number(port), protocol: 'http', maxNetworkRetries: 0 })
})
afterAll(() => fake?.close())
beforeEach(async () => {
  customer = (await stripe.customers.create({ email: 'ada@example.com' })).id
})

const intentOf = (more: Partial<Stripe.PaymentIntentCreateParams> = {}) =>
  stripe.paymentIntents.create({ amount: 2_000, currency: 'usd', customer, ...more })

async function savedCard(id: string): Promise<string> {
  return (await stripe.paymentMethods.attach(id, { customer })).id
}

test('a payment is confirmed, and its charge can be refunded in parts', async () => {
  const intent = await intentOf({ metadata: { order: '7' } })
  expect(intent).toMatchObject({ status: 'requires_payment_method', metadata: { order: '7' } })
  const paid = await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa' })
  expect(paid).toMatchObject({ status: 'succeeded', amount_received: 2_000 })
  await stripe.refunds.create({ payment_intent: intent.id, amount: 500 })
  await stripe.refunds.create({ payment_intent: intent.id })
  await expect(stripe.refunds.create({ payment_intent: intent.id })).rejects.toMatchObject({
    code: 'charge_already_refunded',
  })
  const whole = await stripe.paymentIntents.retrieve(intent.id, { expand: ['latest_charge', 'payment_method'] })
  expect(whole.latest_charge).toMatchObject({ amount_refunded: 2_000, refunded: true })
  expect(whole.payment_method).toMatchObject({ card: { brand: 'visa', last4: '4242' } })
})

test('test cards are refused with the documented codes', async () => {
  for (const [method, code] of [
    ['pm_card_visa_chargeDeclined', 'generic_decline'],
    ['pm_card_visa_chargeDeclinedInsufficientFunds', 'insufficient_funds'],
    ['pm_card_chargeDeclinedExpiredCard', 'expired_card'],
  ] as const) {
    const intent = await intentOf()
    const refused = stripe.paymentIntents.confirm(intent.id, { payment_method: method })
    const error = await refused.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Stripe.errors.StripeCardError)
    expect(error).toMatchObject({ decline_code: code, payment_intent: { status: 'requires_payment_method' } })
  }
})

test('a bank asks for the payer, and a charge without the payer is refused', async () => {
  const intent = await intentOf()
  const asked = await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_authenticationRequired' })
  expect([asked.status, asked.next_action?.type]).toEqual(['requires_action', 'redirect_to_url'])
  const saved = await savedCard('pm_card_authenticationRequired')
  const later = await intentOf()
  await expect(
    stripe.paymentIntents.confirm(later.id, { payment_method: saved, off_session: true }),
  ).rejects.toMatchObject({ code: 'authentication_required' })
})

test('a card is set up once and charged later', async () => {
  const setup = await stripe.setupIntents.create({ customer, usage: 'off_session' })
  const done = await stripe.setupIntents.confirm(setup.id, { payment_method: 'pm_card_visa' })
  expect(done.status).toBe('succeeded')
  const methods = await stripe.customers.listPaymentMethods(customer)
  expect(methods.data.map(({ id }) => id)).toEqual([done.payment_method])
  const intent = await intentOf()
  const method = done.payment_method as string
  const paid = await stripe.paymentIntents.confirm(intent.id, { payment_method: method, off_session: true })
  expect(paid.status).toBe('succeeded')
  await stripe.paymentMethods.detach(method)
  expect((await stripe.customers.listPaymentMethods(customer)).data).toEqual([])
})

test('an idempotency key repeats the reply for a day, and refuses another request', async () => {
  const key = { idempotencyKey: 'order-1' }
  const first = await stripe.paymentIntents.create({ amount: 900, currency: 'usd' }, key)
  const again = await stripe.paymentIntents.create({ amount: 900, currency: 'usd' }, key)
  expect([again.id, again.lastResponse.headers['idempotent-replayed']]).toEqual([first.id, 'true'])
  const other = stripe.paymentIntents.create({ amount: 901, currency: 'usd' }, key)
  await expect(other).rejects.toBeInstanceOf(Stripe.errors.StripeIdempotencyError)
  clock.advance(DAY + 1)
  expect((await stripe.paymentIntents.create({ amount: 900, currency: 'usd' }, key)).id).not.toBe(first.id)
  // Requests that fail validation do not use the key up, refusals of cards do.
  const small = { idempotencyKey: 'order-2' }
  await expect(stripe.paymentIntents.create({ amount: 1, currency: 'usd' }, small)).rejects.toMatchObject({
    code: 'amount_too_small',
  })
  await stripe.paymentIntents.create({ amount: 900, currency: 'usd' }, small)
})

test('lists have pages, and ended payments cannot be paid', async () => {
  const made = []
  for (let count = 0; count < 3; count += 1) made.push((await intentOf()).id)
  const listed = []
  for await (const { id } of stripe.paymentIntents.list({ customer, limit: 2 })) listed.push(id)
  expect(listed).toEqual(made.toReversed())
  const [id = ''] = made
  expect((await stripe.paymentIntents.cancel(id)).status).toBe('canceled')
  await expect(stripe.paymentIntents.confirm(id, { payment_method: 'pm_card_visa' })).rejects.toMatchObject({
    code: 'payment_intent_unexpected_state',
  })
  await expect(stripe.paymentIntents.retrieve('pi_none')).rejects.toMatchObject({ code: 'resource_missing' })
})

test('webhooks carry a signature that the SDK accepts', () => {
  const event = fake.bank.state.events.at(-1)
  const { body, signature } = fake.signed(event as object)
  const read = stripe.webhooks.constructEvent(body, signature, fake.webhookSecret, 300, undefined, clock.now())
  expect(read.id).toBe(event?.id)
  const late = clock.now() + 301_000
  expect(() => stripe.webhooks.constructEvent(body, signature, fake.webhookSecret, 300, undefined, late)).toThrow()
  expect(() =>
    stripe.webhooks.constructEvent(`${body} `, signature, fake.webhookSecret, 300, undefined, clock.now()),
  ).toThrow()
})
