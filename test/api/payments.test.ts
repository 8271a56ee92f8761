import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY } from '../../src/core/clock.ts'
import { startShop, type Shop } from '../support/payments.ts'
import type { Reply } from '../support/send.ts'

let shop: Shop

beforeAll(async () => {
  shop = await startShop()
  await shop.world.user('ada')
  await shop.world.user('eve')
  await shop.world.user('root', { admin: true })
})
afterAll(() => shop?.stop())

const call = (user: string, route: string, options: object = {}): Promise<Reply> =>
  shop.world.as(user).call(route, options)

async function begin(user: string, fields: object = {}): Promise<Reply['body']['data']> {
  const body = { purpose: 'wallet', amount: 2_500, gateway: 'stripe', ...fields }
  const reply = await call(user, 'POST /api/payments/initialize', { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

const verify = (user: string, reference: string) => call(user, 'POST /api/payments/verify', { body: { reference } })

async function saveCard(user: string, card: string): Promise<string> {
  const setup = await call(user, 'POST /api/users/me/payment-methods/setup', { body: { gateway: 'stripe' } })
  expect(setup.status, setup.text).toBe(201)
  const { clientSecret, setupReference } = setup.body.data
  await shop.stripe.pay(clientSecret, card)
  const intent = shop.stripe.bank.setup(setupReference)
  if (intent.status === 'requires_action') shop.stripe.bank.finishSetup(intent)
  const body = { gateway: 'stripe', setupReference }
  const saved = await call(user, 'POST /api/users/me/payment-methods', { body })
  expect(saved.status, saved.text).toBe(201)
  expect((await call(user, 'POST /api/users/me/payment-methods', { body })).body.data._id).toBe(saved.body.data._id)
  return saved.body.data._id
}

describe('payments by card', () => {
  test('are settled by verifying, and the money is in the wallet', async () => {
    const before = await shop.balance(shop.world.id('ada'))
    const { clientSecret, payment, publicKey } = await begin('ada')
    expect(payment).toMatchObject({ status: 'pending', amount: 2_500, currency: 'USD', settledTo: null })
    expect(publicKey).toBe(shop.stripe.publicKey)
    expect((await verify('ada', payment.reference)).body.data.payment.status).toBe('pending')
    await shop.stripe.pay(clientSecret)
    const verified = await verify('ada', payment.reference)
    expect(verified.body.data).toMatchObject({
      clientSecret: null,
      payment: { status: 'succeeded', settledTo: 'purpose', receivedAmount: 2_500 },
    })
    expect((await verify('ada', payment.reference)).body.data.payment).toEqual(verified.body.data.payment)
    expect((await shop.balance(shop.world.id('ada'))) - before).toBe(2_500)
    expect(await shop.books()).toEqual({ sum: 0, held: expect.any(Number) })
  })

  test('have no invoice until they succeed', async () => {
    const { payment } = await begin('ada')
    const download = (user: string) =>
      call(user, 'GET /api/users/me/transactions/{id}/invoice', { path: { id: payment._id } })
    const reply = await download('ada')
    expect([reply.status, reply.body.code]).toEqual([409, 'invoice_unavailable'])
    expect((await download('eve')).status).toBe(404)
  })

  test('are not shown to other users', async () => {
    const { payment } = await begin('ada')
    expect((await verify('eve', payment.reference)).status).toBe(404)
  })

  test('can be tried with another card after a refusal, and ask for 3-D Secure', async () => {
    const { clientSecret, payment } = await begin('ada')
    expect((await shop.stripe.pay(clientSecret, 'pm_card_visa_chargeDeclined')).status).toBe(402)
    const refused = await verify('ada', payment.reference)
    expect(refused.body.data).toMatchObject({ clientSecret, payment: { status: 'pending' } })
    await shop.stripe.pay(clientSecret, 'pm_card_authenticationRequired')
    const asked = await verify('ada', payment.reference)
    expect(asked.body.data.payment.status).toBe('requires_action')
    const [id = ''] = clientSecret.split('_secret_')
    shop.stripe.bank.authenticate(shop.stripe.bank.intent(id), true)
    expect((await verify('ada', payment.reference)).body.data.payment.status).toBe('succeeded')
  })

  test('that nobody completes expire, and can no longer be paid', async () => {
    const { clientSecret, payment } = await begin('ada')
    shop.clock.advance(2 * DAY)
    await shop.desk.sweeper.sweep()
    expect((await verify('ada', payment.reference)).body.data.payment.status).toBe('expired')
    expect((await shop.stripe.pay(clientSecret)).status).toBe(400)
  })

  test('name what is wrong with the request', async () => {
    const wrong = async (body: object) => {
      const reply = await call('ada', 'POST /api/payments/initialize', { body })
      return [reply.status, reply.body.code, reply.body.errors?.[0]?.path]
    }
    const valid = { purpose: 'wallet', amount: 2_500, gateway: 'stripe' }
    expect(await wrong({ ...valid, amount: undefined })).toEqual([400, 'validation_failed', '/body/amount'])
    expect(await wrong({ ...valid, currency: 'XAU' })).toEqual([400, 'validation_failed', '/body/currency'])
    expect(await wrong({ ...valid, gateway: 'paypal' })).toEqual([409, 'gateway_not_configured', undefined])
  })
})

describe('saved methods', () => {
  test('are charged, kept, made the default and deleted', async () => {
    const first = await saveCard('ada', 'pm_card_visa')
    const second = await saveCard('ada', 'pm_card_mastercard')
    const listed = await call('ada', 'GET /api/users/me/payment-methods')
    expect(listed.body.data).toMatchObject([
      { _id: second, brand: 'mastercard', last4: '4444', isDefault: false },
      { _id: first, brand: 'visa', last4: '4242', isDefault: true },
    ])
    const made = await call('ada', 'PATCH /api/users/me/payment-methods/{id}/default', { path: { id: second } })
    expect(made.body.data.isDefault).toBe(true)
    const body = { purpose: 'wallet', amount: 700 }
    const charged = await call('ada', 'POST /api/payments/charge', { body })
    expect(charged.body.data.payment, charged.text).toMatchObject({ status: 'succeeded', receivedAmount: 700 })
    const other = await call('eve', 'POST /api/payments/charge', { body: { ...body, paymentMethodId: first } })
    expect(other.status).toBe(404)
    const remove = (id: string) => call('ada', 'DELETE /api/users/me/payment-methods/{id}', { path: { id } })
    expect((await remove(second)).status).toBe(200)
    expect((await call('ada', 'GET /api/users/me/payment-methods')).body.data).toMatchObject([
      { _id: first, isDefault: true },
    ])
    expect((await remove(second)).status).toBe(404)
  })

  test('the only one stays while it is in use', async () => {
    const id = await saveCard('eve', 'pm_card_visa')
    let isUsed = true
    shop.app.composition.services.payments.methods.registerUse(async (_sql, userId) => {
      return isUsed && userId === shop.world.id('eve')
    })
    const remove = () => call('eve', 'DELETE /api/users/me/payment-methods/{id}', { path: { id } })
    expect((await remove()).body.code).toBe('payment_method_needed')
    isUsed = false
    expect((await remove()).status).toBe(200)
  })

  test('are kept with a payment when the payer wants it', async () => {
    await shop.world.user('mia')
    const { clientSecret, payment } = await begin('mia', { saveMethod: true })
    await shop.stripe.pay(clientSecret, 'pm_card_mastercard')
    await verify('mia', payment.reference)
    expect((await call('mia', 'GET /api/users/me/payment-methods')).body.data).toMatchObject([{ last4: '4444' }])
  })

  test('a refusal is a 402 with the reason, and the charge cannot succeed later', async () => {
    await shop.world.user('rob')
    await saveCard('rob', 'pm_card_chargeCustomerFail')
    const charged = await call('rob', 'POST /api/payments/charge', { body: { purpose: 'wallet', amount: 700 } })
    expect([charged.status, charged.body.code]).toEqual([402, 'payment_declined'])
    expect(charged.body.details.reason).toBe('generic_decline')
    const [payment] = (await call('rob', 'GET /api/users/me/transactions')).body.data
    expect(payment).toMatchObject({ status: 'failed', failureCode: 'generic_decline', receivedAmount: 0 })
    expect([...shop.stripe.bank.state.intents.values()].at(-1)?.status).toBe('canceled')
  })

  test('the payer confirms a charge when the bank wants it', async () => {
    await shop.world.user('sam')
    await saveCard('sam', 'pm_card_authenticationRequired')
    const charged = await call('sam', 'POST /api/payments/charge', { body: { purpose: 'wallet', amount: 700 } })
    const { clientSecret, payment } = charged.body.data
    expect([charged.status, payment.status, payment.failureCode], charged.text).toEqual([
      201,
      'requires_action',
      'authentication_required',
    ])
    await shop.stripe.pay(clientSecret, 'pm_card_authenticationRequired')
    const [id = ''] = clientSecret.split('_secret_')
    shop.stripe.bank.authenticate(shop.stripe.bank.intent(id), true)
    expect((await verify('sam', payment.reference)).body.data.payment).toMatchObject({
      status: 'succeeded',
      failureCode: null,
    })
  })

  test('without one, there is nothing to charge', async () => {
    await shop.world.user('tom')
    const charged = await call('tom', 'POST /api/payments/charge', { body: { purpose: 'wallet', amount: 700 } })
    expect([charged.status, charged.body.errors?.[0]?.path]).toEqual([400, '/body/paymentMethodId'])
  })
})

describe('bank transfers', () => {
  const transfer = async (user: string) => {
    const { instructions, payment } = await begin(user, { gateway: 'manual' })
    expect(instructions).toContain(payment.reference)
    return payment
  }
  const book = (id: string, receivedAmount: number, user = 'root') =>
    call(user, 'POST /api/payments/{id}/book', { path: { id }, body: { receivedAmount, reason: 'Bank statement' } })

  test('are booked once by an administrator, with the reason', async () => {
    const { _id } = await transfer('ada')
    expect((await book(_id, 2_500, 'ada')).status).toBe(403)
    const booked = await book(_id, 2_600)
    expect(booked.body.data).toMatchObject({ status: 'succeeded', receivedAmount: 2_600, settledTo: 'purpose' })
    expect((await book(_id, 2_500)).status).toBe(409)
    const changes = await shop.app.database.rows(
      'select to_status, cause, actor_id, reason from payment_changes where payment_id = $1 order by id',
      [_id],
    )
    const actor = shop.world.id('root')
    expect(changes.at(-1)).toEqual({
      to_status: 'succeeded',
      cause: 'administrator',
      actor_id: actor,
      reason: 'Bank statement',
    })
  })

  test('that are too small or too late go to the wallet', async () => {
    const before = await shop.balance(shop.world.id('eve'))
    const small = await transfer('eve')
    expect((await book(small._id, 900)).body.data).toMatchObject({ receivedAmount: 900, settledTo: 'wallet' })
    const late = await transfer('eve')
    shop.clock.advance(31 * DAY)
    await shop.desk.sweeper.sweep()
    expect((await verify('eve', late.reference)).body.data.payment.status).toBe('expired')
    expect((await book(late._id, 2_500)).body.data).toMatchObject({ status: 'succeeded', settledTo: 'wallet' })
    expect((await shop.balance(shop.world.id('eve'))) - before).toBe(3_400)
  })
})

test('the configuration shows what is on', async () => {
  const { data } = (await call('ada', 'GET /api/payments/config')).body
  expect(data.gateways).toMatchObject([
    { key: 'stripe', kind: 'card', publicKey: shop.stripe.publicKey, savesMethods: true },
    { key: 'manual', kind: 'transfer', publicKey: null, currencies: ['USD'] },
  ])
})

test('transactions are filtered by status and time', async () => {
  await shop.world.user('kim')
  const first = await begin('kim')
  const middle = new Date(shop.clock.now() + 1).toISOString()
  shop.clock.advance(60_000)
  const second = await begin('kim')
  await shop.stripe.pay(second.clientSecret)
  await verify('kim', second.payment.reference)
  const ids = async (query: object) => {
    const { data } = (await call('kim', 'GET /api/users/me/transactions', { query })).body
    return (data as { _id: string }[]).map(({ _id }) => _id)
  }
  expect(await ids({})).toEqual([second.payment._id, first.payment._id])
  expect(await ids({ status: 'succeeded' })).toEqual([second.payment._id])
  expect(await ids({ from: middle })).toEqual([second.payment._id])
  expect(await ids({ to: middle })).toEqual([first.payment._id])
})
