import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, MINUTE } from '../../src/core/clock.ts'
import type { Step } from '../../src/domains/money/payments/steps.ts'
import { startShop, type Shop } from '../support/payments.ts'
import { PRICE } from '../support/recording-purpose.ts'
import { playHistory } from './payment-histories.ts'
import { PaymentProcess, type Order } from './payment-processes.ts'

/** A process is killed (SIGKILL) at every step of a payment. The next process that looks at the payment settles it once. */

let shop: Shop
let one: PaymentProcess
let other: PaymentProcess
let count = 0

beforeAll(async () => {
  shop = await startShop()
  one = new PaymentProcess(shop, shop.clock)
  other = new PaymentProcess(shop, shop.clock)
})
afterAll(async () => {
  await one?.stop()
  await other?.stop()
  await shop?.stop()
})

async function payer(): Promise<string> {
  count += 1
  return (await shop.world.user(`killed-${count}`)).id
}

const newest = async (userId: string) =>
  shop.app.database.row<{ id: string; reference: string; status: string }>(
    'select id, reference, status from payments where user_id = $1 order by id desc limit 1',
    [userId],
  )

const INITIALIZE: readonly Step[] = [
  'intent.written',
  'gateway.created',
  'settle',
  'settle.commit',
  'reference.written',
]
const SETTLE: readonly Step[] = ['settle', 'settle.commit', 'settled']

test('at each step of initialize: the payment can be paid and is settled once, or it ends unpaid', async () => {
  for (const killAt of INITIALIZE) {
    const userId = await payer()
    expect([killAt, await one.run({ kind: 'initialize', userId, killAt })]).toEqual([killAt, { killed: true }])
    const intent = [...shop.stripe.bank.state.intents.values()].find(
      ({ metadata }) => metadata['crier_user'] === userId,
    )
    // Even if the payer has got hold of the secret in spite of the crash, the money is not lost.
    const isPaid = intent !== undefined && (await shop.stripe.pay(intent.client_secret)).status === 200
    shop.clock.advance(10 * MINUTE)
    if (isPaid) {
      const event = shop.stripe.bank.state.events.at(-1) as object
      await Promise.all([
        one.run({ kind: 'webhook', request: shop.stripe.signed(event) }),
        other.run({ kind: 'sweep' }),
      ])
    }
    await Promise.all([one.run({ kind: 'sweep' }), other.run({ kind: 'sweep' })])
    const row = await newest(userId)
    const granted = await shop.grants(row?.id ?? '')
    const inWallet = await shop.balance(userId)
    expect([killAt, row?.status, granted * PRICE + inWallet]).toEqual(
      isPaid ? [killAt, 'succeeded', PRICE] : [killAt, 'failed', 0],
    )
    expect((await shop.books()).sum).toBe(0)
  }
})

test.each(['settled', 'reference.written'] as const)(
  'at %s of initialize: a payment that nobody pays expires',
  async (killAt) => {
    const userId = await payer()
    expect(await one.run({ kind: 'initialize', userId, killAt })).toEqual({ killed: true })
    shop.clock.advance(DAY + 10 * MINUTE)
    await other.run({ kind: 'sweep' })
    expect(await newest(userId)).toMatchObject({ status: 'expired' })
  },
)

test.each(['verify', 'webhook'] as const)('at each step of %s: the payment is settled once', async (kind) => {
  for (const killAt of kind === 'webhook' ? (['event.written', ...SETTLE] as const) : SETTLE) {
    const userId = await payer()
    const { clientSecret, payment } = await one.begin(userId)
    await shop.stripe.pay(clientSecret ?? '')
    const request = shop.stripe.signed(shop.stripe.bank.state.events.at(-1) as object)
    const order: Order =
      kind === 'verify' ? { kind, userId, reference: payment.reference, killAt } : { kind, request, killAt }
    const before = (await shop.books()).held
    expect([killAt, await one.run(order)]).toEqual([killAt, { killed: true }])
    shop.clock.advance(3 * MINUTE)
    // What was killed is repeated on two processes at once, and the sweeper runs.
    const again = { ...order, killAt: undefined }
    await Promise.all([one.run(again), other.run(again), one.run({ kind: 'sweep' }), other.run({ kind: 'sweep' })])
    expect([killAt, (await newest(userId))?.status, await shop.grants(payment._id)]).toEqual([killAt, 'succeeded', 1])
    const { held, sum } = await shop.books()
    expect([killAt, sum, before - held]).toEqual([killAt, 0, PRICE])
  }
})

/** `npm run soak:payments` plays 200 histories, or HISTORIES. SEED is the first one, to repeat one that has failed. */
const HISTORIES = Number(process.env['HISTORIES'] ?? 2)
const SEED = Number(process.env['SEED'] ?? 1)

test(
  'random histories on two processes charge once and credit once',
  async () => {
    for (let played = 1; played <= HISTORIES; played += 1) {
      await playHistory(shop, [one, other], SEED + played - 1)
      // A long run that is stopped has told how far it came.
      if (played % 10 === 0) console.log(`${played} histories, ${one.kills + other.kills} processes killed`)
    }
  },
  60_000 + HISTORIES * 30_000,
)
