import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts'
import type { Step } from '../../src/domains/money/payments/steps.ts'
import { startShop, type Desk, type Shop } from '../support/payments.ts'
import { PRICE } from '../support/recording-purpose.ts'

/** However a payment is found out about, in any order, any number of times and after any interruption: it counts once. */

let shop: Shop
let desk: Desk

beforeAll(async () => {
  shop = await startShop()
  desk = shop.desk
})
afterAll(() => shop?.stop())

const MANY = Array.from({ length: 50 }, (_, index) => index)
let users = 0

async function newUser(): Promise<{ userId: string }> {
  users += 1
  const { id } = await shop.world.user(`payer-${users}`)
  return { userId: id }
}

const request = (userId: string, input = {}) => ({ userId, purpose: 'credits' as const, input })
const begin = (userId: string, input = {}) => desk.charges.initialize(request(userId, input), { gateway: 'stripe' })

async function saveCard(userId: string, card = 'pm_card_visa'): Promise<string> {
  const setup = await desk.methods.setUp({ userId }, 'stripe')
  await shop.stripe.pay(setup.clientSecret ?? '', card)
  return (await desk.methods.save({ userId }, 'stripe', setup.setupReference))._id
}

const held = async () => (await shop.books()).held
const statusOf = async (id: string) => (await desk.transactions.find(shop.app.database, id))?.status
const events = (type: string) => shop.stripe.bank.state.events.filter((event) => event.type === type)

async function expectOnce(id: string, work: () => Promise<unknown>): Promise<void> {
  const before = await held()
  await work()
  expect([await statusOf(id), await shop.grants(id)]).toEqual(['succeeded', 1])
  expect((await held()) - before).toBe(-PRICE)
  expect((await shop.books()).sum).toBe(0)
}

describe('50 at once', () => {
  test('verify, webhook and sweeper settle a payment once', async () => {
    const { userId } = await newUser()
    const { clientSecret, payment } = await begin(userId)
    await shop.stripe.pay(clientSecret ?? '')
    const event = events('payment_intent.succeeded').at(-1) as object
    shop.clock.advance(3 * MINUTE)
    await expectOnce(payment._id, async () => {
      await Promise.all(
        MANY.map((index) => {
          if (index % 3 === 0) return desk.charges.verify({ userId }, payment.reference)
          return index % 3 === 1 ? shop.receive(event) : desk.sweeper.sweep()
        }),
      )
    })
  })

  test('requests with one key charge a saved method once', async () => {
    const { userId } = await newUser()
    await saveCard(userId)
    const before = await held()
    const charges = await Promise.allSettled(
      MANY.map(() => desk.charges.chargeSaved({ ...request(userId), key: `renewal-${userId}` })),
    )
    // A gateway refuses a key that is in use, which is no outcome.
    expect(charges.some(({ status }) => status === 'fulfilled')).toBe(true)
    shop.clock.advance(3 * MINUTE)
    await desk.sweeper.sweep()
    const { body } = await shop.world.as(`payer-${users}`).call('GET /api/users/me/transactions')
    expect(body.data).toHaveLength(1)
    expect([body.data[0].status, await shop.grants(body.data[0]._id)]).toEqual(['succeeded', 1])
    expect((await held()) - before).toBe(-PRICE)
  })

  test('payments from the wallet never take more than it holds', async () => {
    const { userId } = await newUser()
    const { ledger } = shop.app.composition.services
    const money = { accountKind: 'wallet', amount: 3 * PRICE + 1, currency: 'USD', reason: 'For the test' } as const
    await ledger.wallet.correct(userId, { userId, ...money })
    const paid = await Promise.allSettled(MANY.map(() => desk.charges.payWithWallet(request(userId))))
    const refused = paid.filter(({ status }) => status === 'rejected')
    expect(paid.length - refused.length).toBe(3)
    for (const one of refused) expect(one).toMatchObject({ reason: { code: 'insufficient_funds' } })
    expect(await shop.balance(userId)).toBe(1)
    expect((await shop.books()).sum).toBe(0)
  })

  test('a refund of a payment from the wallet is in the wallet once', async () => {
    const { userId } = await newUser()
    const { ledger } = shop.app.composition.services
    const money = { accountKind: 'wallet', amount: PRICE, currency: 'USD', reason: 'For the test' } as const
    await ledger.wallet.correct(userId, { userId, ...money })
    const { _id } = await desk.charges.payWithWallet(request(userId))
    expect(await shop.balance(userId)).toBe(0)
    const refund = { reason: 'Not needed' }
    const refunds = await Promise.allSettled(MANY.map(() => desk.refunds.refund({ userId }, _id, refund)))
    expect(refunds.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect([await shop.balance(userId), (await shop.books()).sum]).toEqual([PRICE, 0])
  })

  test('refunds never pay back more than was paid', async () => {
    const { userId } = await newUser()
    const { clientSecret, payment } = await begin(userId)
    await shop.stripe.pay(clientSecret ?? '')
    await desk.charges.verify({ userId }, payment.reference)
    const refund = { amount: 400, reason: 'A part' }
    const refunds = await Promise.allSettled(MANY.map(() => desk.refunds.refund({ userId }, payment._id, refund)))
    expect(refunds.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    const row = await desk.transactions.find(shop.app.database, payment._id)
    expect(row).toMatchObject({ refundedAmount: 800, status: 'succeeded' })
    await desk.refunds.refund({ userId }, payment._id, { reason: 'The rest' })
    expect(await statusOf(payment._id)).toBe('refunded')
    expect((await shop.books()).sum).toBe(0)
  })

  test('customers, saved methods and deletions have no twins', async () => {
    const { userId } = await newUser()
    await Promise.all(MANY.slice(0, 10).map(() => desk.methods.setUp({ userId }, 'stripe').catch(() => {})))
    const setup = await desk.methods.setUp({ userId }, 'stripe')
    await shop.stripe.pay(setup.clientSecret ?? '')
    const saved = await Promise.all(MANY.map(() => desk.methods.save({ userId }, 'stripe', setup.setupReference)))
    expect(new Set(saved.map(({ _id }) => _id)).size).toBe(1)
    const id = saved[0]?._id ?? ''
    const deleted = await Promise.allSettled(MANY.map(() => desk.methods.delete({ userId }, id)))
    expect(deleted.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})

describe('webhooks', () => {
  test('in every order and twice lead to the same end', async () => {
    const { userId } = await newUser()
    const ends = new Set<string>()
    for (const order of permutations([0, 1, 2, 3])) {
      const { clientSecret, payment } = await begin(userId)
      const from = shop.stripe.bank.state.events.length
      await shop.stripe.pay(clientSecret ?? '', 'pm_card_visa_chargeDeclined')
      await shop.stripe.pay(clientSecret ?? '')
      const sent = shop.stripe.bank.state.events
        .slice(from - 1)
        .filter(({ type }) => /^(payment_intent|charge)/.test(type))
      expect(sent).toHaveLength(4)
      for (const index of [...order, ...order]) await shop.receive(sent[index] as object)
      ends.add(`${await statusOf(payment._id)} ${await shop.grants(payment._id)}`)
    }
    expect([...ends]).toEqual(['succeeded 1'])
    expect((await shop.books()).sum).toBe(0)
  })

  test('that come before the reference was stored find their payment', async () => {
    const { userId } = await newUser()
    const id = await interrupted('gateway.created', () => begin(userId))
    const intent = [...shop.stripe.bank.state.intents.values()].at(-1)
    await shop.stripe.pay(intent?.client_secret ?? '')
    await expectOnce(id, () => shop.receive(events('payment_intent.succeeded').at(-1) as object))
  })
})

/** Stops a request at a step, as if the process was killed there. @returns the id of the newest payment */
async function interrupted(step: Step, work: () => Promise<unknown>): Promise<string> {
  desk.steps.onStep = (reached) => {
    if (reached === step) throw new Error(`killed at ${step}`)
  }
  try {
    await expect(work()).rejects.toThrow(`killed at ${step}`)
  } finally {
    desk.steps.onStep = undefined
  }
  const row = await shop.app.database.row<{ id: string }>('select id from payments order by id desc limit 1')
  return row?.id ?? ''
}

describe('a process that is killed', () => {
  const steps = [
    'intent.written',
    'gateway.created',
    'reference.written',
    'gateway.confirmed',
    'settle',
    'settle.commit',
  ] as const

  test.each(steps)('at %s of a charge takes the money once or not at all', async (step) => {
    const { userId } = await newUser()
    await saveCard(userId)
    const before = await held()
    const id = await interrupted(step, () => desk.charges.chargeSaved(request(userId)))
    shop.clock.advance(10 * MINUTE)
    await Promise.all([desk.sweeper.sweep(), desk.sweeper.sweep()])
    const intents = [...shop.stripe.bank.state.intents.values()].filter(
      ({ metadata }) => metadata['crier_payment'] === id,
    )
    const taken = intents.filter(({ status }) => status === 'succeeded').length
    expect([await statusOf(id), await shop.grants(id)]).toEqual(taken === 1 ? ['succeeded', 1] : ['failed', 0])
    expect((await held()) - before).toBe(taken === 1 ? -PRICE : 0)
    // What was given up can no longer be paid. One whose id was not stored was never confirmed.
    const hasId = ['reference.written', 'gateway.confirmed'].includes(step)
    const ended = intents.filter(({ status }) => status === 'succeeded' || status === 'canceled')
    expect(ended).toHaveLength(hasId ? 1 : 0)
    expect(intents.some(({ status }) => status === 'processing' || status === 'requires_action')).toBe(false)
  })

  test.each(steps)('at %s of a charge with a key is continued by the next request', async (step) => {
    const { userId } = await newUser()
    await saveCard(userId)
    const charge = () => desk.charges.chargeSaved({ ...request(userId), key: `${step}-${userId}` })
    const id = await interrupted(step, charge)
    await expectOnce(id, charge)
    expect(
      [...shop.stripe.bank.state.charges.values()].filter(({ metadata }) => metadata['crier_payment'] === id),
    ).toHaveLength(1)
  })

  test.each(['settle', 'settle.commit', 'settled'] as const)('at %s of verifying settles later', async (step) => {
    const { userId } = await newUser()
    const { clientSecret, payment } = await begin(userId)
    await shop.stripe.pay(clientSecret ?? '')
    const before = await held()
    await interrupted(step, () => desk.charges.verify({ userId }, payment.reference))
    expect(await shop.grants(payment._id)).toBe(step === 'settled' ? 1 : 0)
    await shop.receive(events('payment_intent.succeeded').at(-1) as object)
    expect([await statusOf(payment._id), await shop.grants(payment._id)]).toEqual(['succeeded', 1])
    expect((await held()) - before).toBe(-PRICE)
  })

  test.each(['refund.written', 'gateway.refunded', 'settle.commit'] as const)('at %s pays back once', async (step) => {
    const { userId } = await newUser()
    const { clientSecret, payment } = await begin(userId)
    await shop.stripe.pay(clientSecret ?? '')
    await desk.charges.verify({ userId }, payment.reference)
    const before = await held()
    await interrupted(step, () => desk.refunds.refund({ userId }, payment._id, { reason: 'Killed' }))
    shop.clock.advance(10 * MINUTE)
    await Promise.all([desk.sweeper.sweep(), desk.sweeper.sweep()])
    expect(await statusOf(payment._id)).toBe('refunded')
    expect((await held()) - before).toBe(PRICE)
    const intent = events('payment_intent.succeeded').at(-1)?.data.object as { id: string }
    const refunds = [...shop.stripe.bank.state.refunds.values()].filter((one) => one.payment_intent === intent.id)
    expect(refunds).toHaveLength(1)
  })
})

describe('a gateway that is down', () => {
  test('answers 503 with Retry-After and loses nothing', async () => {
    const { userId } = await newUser()
    await saveCard(userId)
    const { clientSecret, payment } = await begin(userId)
    await shop.stripe.pay(clientSecret ?? '')
    shop.stripe.isDown = true
    const as = shop.world.as(`payer-${users}`)
    const body = { purpose: 'wallet', amount: 500 }
    const replies = await Promise.all([
      as.call('POST /api/payments/initialize', { body: { ...body, gateway: 'stripe' } }),
      as.call('POST /api/payments/charge', { body }),
      as.call('POST /api/payments/verify', { body: { reference: payment.reference } }),
      shop.deliver(events('payment_intent.succeeded').at(-1) as object),
    ])
    for (const reply of replies) {
      expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([
        503,
        'gateway_unavailable',
        '30',
      ])
    }
    shop.clock.advance(HOUR)
    await desk.sweeper.sweep()
    expect(await statusOf(payment._id)).toBe('pending')
    shop.stripe.isDown = false
    shop.clock.advance(2 * HOUR)
    await expectOnce(payment._id, () => desk.sweeper.sweep())
    const { data } = (await as.call('GET /api/users/me/transactions')).body
    expect((data as { status: string }[]).map(({ status }) => status)).toEqual(['failed', 'failed', 'succeeded'])
  })

  test.each(['before', 'after'] as const)('a connection that breaks %s a charge leaves no doubt', async (kind) => {
    const { userId } = await newUser()
    await saveCard(userId)
    shop.stripe.faults.push({ path: /confirm$/, kind })
    const before = await held()
    await expect(desk.charges.chargeSaved(request(userId))).rejects.toMatchObject({ code: 'gateway_unavailable' })
    const row = await shop.app.database.row<{ id: string }>('select id from payments order by id desc limit 1')
    const id = row?.id ?? ''
    expect(shop.stripe.seen.filter(({ path }) => path.endsWith('/confirm')).at(-1)).toBeDefined()
    shop.clock.advance(10 * MINUTE)
    await desk.sweeper.sweep()
    const expected = kind === 'after' ? ['succeeded', 1] : ['failed', 0]
    expect([await statusOf(id), await shop.grants(id)]).toEqual(expected)
    expect((await held()) - before).toBe(kind === 'after' ? -PRICE : 0)
  })
})

test('money for what can no longer be had goes to the wallet', async () => {
  const { userId } = await newUser()
  const { clientSecret, payment } = await begin(userId, { isObsolete: true })
  await shop.stripe.pay(clientSecret ?? '')
  const { payment: settled } = await desk.charges.verify({ userId }, payment.reference)
  expect(settled).toMatchObject({ status: 'succeeded', settledTo: 'wallet' })
  expect([await shop.balance(userId), await shop.grants(payment._id)]).toEqual([PRICE, 0])
})

test('a dispute takes the money back, and a won one returns it', async () => {
  const { userId } = await newUser()
  const { clientSecret, payment } = await begin(userId)
  const before = await held()
  await shop.stripe.pay(clientSecret ?? '', 'pm_card_createDispute')
  await desk.charges.verify({ userId }, payment.reference)
  const dispute = events('charge.dispute.created').at(-1) as { data: { object: { id: string } } }
  await shop.receive(dispute)
  expect([await statusOf(payment._id), (await held()) - before]).toEqual(['disputed', 0])
  shop.stripe.bank.closeDispute(dispute.data.object.id, 'won')
  await shop.receive(events('charge.dispute.closed').at(-1) as object)
  expect([await statusOf(payment._id), (await held()) - before]).toEqual(['succeeded', -PRICE])
  expect((await shop.books()).sum).toBe(0)
})

test('the daily reconciliation finds a payment that was missed, reports it once, and settles it', async () => {
  const { userId } = await newUser()
  const id = await interrupted('gateway.created', () => begin(userId))
  // The sweeper has given up before the payer paid.
  shop.clock.advance(10 * MINUTE)
  await desk.sweeper.sweep()
  expect(await statusOf(id)).toBe('failed')
  const intent = [...shop.stripe.bank.state.intents.values()].at(-1)
  await shop.stripe.pay(intent?.client_secret ?? '')
  shop.clock.advance(DAY)
  expect(await desk.reconciliation.run()).toBe(1)
  expect(await desk.reconciliation.run()).toBe(0)
  // What it paid for was given up, so the money is in the wallet.
  expect([await statusOf(id), await shop.balance(userId), await shop.grants(id)]).toEqual(['succeeded', PRICE, 0])
  const found = await desk.events.list({ limit: 10, after: undefined }, ['missed'])
  expect(found.items).toMatchObject([{ gateway: 'stripe', type: 'reconciliation', paymentId: id }])
})

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]))
}
