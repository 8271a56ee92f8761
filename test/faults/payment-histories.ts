import { expect } from 'vitest'
import { DAY, MINUTE } from '../../src/core/clock.ts'
import type { Step } from '../../src/domains/money/payments/steps.ts'
import type { Shop } from '../support/payments.ts'
import { randomOf } from '../support/random.ts'
import type { Order, PaymentProcess } from './payment-processes.ts'

const SETTLE = ['settle', 'settle.commit', 'settled'] as const
/** Where a process can be killed. */
const STEPS = {
  initialize: ['intent.written', 'gateway.created', 'reference.written', ...SETTLE],
  verify: SETTLE,
  webhook: ['event.written', ...SETTLE],
  refund: ['refund.written', 'gateway.refunded', ...SETTLE],
  sweep: SETTLE,
} as const satisfies Readonly<Record<string, readonly Step[]>>
const CARDS = ['pm_card_visa', 'pm_card_visa', 'pm_card_visa_chargeDeclined'] as const
const ACTIONS = 14

/**
 * Plays a random history of two payers on several processes: payments begin, are paid or declined, verified, swept and
 * refunded; webhooks come late, twice and out of order; connections break, and processes are killed at random steps. Then
 * everything gets its time, and what the gateway has is compared with what was settled.
 */
export async function playHistory(shop: Shop, nodes: readonly PaymentProcess[], seed: number): Promise<void> {
  const random = randomOf(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const { bank } = shop.stripe
  const users = [await shop.world.user(`story-${seed}-a`), await shop.world.user(`story-${seed}-b`)].map(({ id }) => id)
  const firstEvent = bank.state.events.length
  const mine = () =>
    [...bank.state.intents.values()].filter(({ metadata }) => users.includes(metadata['crier_user'] ?? ''))
  const payments = () =>
    shop.app.database.rows<Row>('select * from payments where user_id = any($1) order by id', [users])
  const killAt = (kind: keyof typeof STEPS): Step | undefined => (random() < 0.3 ? pick<Step>(STEPS[kind]) : undefined)
  const order = async (): Promise<Order | undefined> => {
    const known = await payments()
    const row = pick(known)
    const event = pick(bank.state.events.slice(firstEvent))
    switch (pick(['initialize', 'verify', 'verify', 'webhook', 'webhook', 'sweep', 'refund'] as const)) {
      case 'initialize':
        return { kind: 'initialize', userId: pick(users), killAt: killAt('initialize') }
      case 'verify':
        return row && { kind: 'verify', userId: row.user_id, reference: row.reference, killAt: killAt('verify') }
      case 'webhook':
        return event && { kind: 'webhook', request: shop.stripe.signed(event), killAt: killAt('webhook') }
      case 'refund':
        return row && { kind: 'refund', userId: row.user_id, paymentId: row.id, killAt: killAt('refund') }
      default:
        return { kind: 'sweep', killAt: killAt('sweep') }
    }
  }
  await pick(nodes).run({ kind: 'initialize', userId: pick(users) })
  for (let action = 0; action < ACTIONS; action += 1) {
    if (random() < 0.2)
      shop.stripe.faults.push({ path: /payment_intents|refunds/, kind: pick(['before', 'after', 'error']) })
    if (random() < 0.5) {
      const intent = pick(mine().filter(({ status }) => status === 'requires_payment_method'))
      if (intent !== undefined) await shop.stripe.pay(intent.client_secret, pick(CARDS)).catch(() => undefined)
    }
    shop.clock.advance(Math.floor(random() * 4) * MINUTE)
    const orders = [await order(), random() < 0.4 ? await order() : undefined].filter((one) => one !== undefined)
    await Promise.all(orders.map((one) => pick(nodes).run(one)))
  }
  shop.stripe.faults.length = 0
  for (let round = 0; round < 3; round += 1) {
    shop.clock.advance(DAY + 2 * MINUTE)
    for (const node of nodes) await node.run({ kind: 'sweep' })
  }
  await Promise.all(nodes.map((node) => node.run({ kind: 'reconcile' })))
  await compare(shop, seed, users, await payments(), mine())
}

interface Row {
  readonly id: string
  readonly user_id: string
  readonly reference: string
  readonly status: string
  readonly received_amount: number | string
  readonly refunded_amount: number | string
  readonly settled_to: 'purpose' | 'wallet' | null
}

interface Intent {
  readonly id: string
  readonly status: string
  readonly metadata: Readonly<Record<string, string>>
}

async function compare(
  shop: Shop,
  seed: number,
  users: readonly string[],
  rows: readonly Row[],
  intents: readonly Intent[],
): Promise<void> {
  const taken = new Map(
    [...shop.stripe.bank.state.charges.values()]
      .filter(({ metadata, paid }) => paid && users.includes(metadata['crier_user'] ?? ''))
      .map((charge) => [charge.metadata['crier_payment'], charge] as const),
  )
  for (const row of rows) {
    const charge = taken.get(row.id)
    const about = `history ${seed}, payment ${row.reference}`
    expect([about, Number(row.received_amount)]).toEqual([about, charge?.amount ?? 0])
    expect([about, Number(row.refunded_amount)]).toEqual([about, charge?.amount_refunded ?? 0])
    expect([about, await shop.grants(row.id)]).toEqual([about, row.settled_to === 'purpose' ? 1 : 0])
    const ended = ['succeeded', 'refunded', 'failed', 'expired', 'cancelled']
    expect([about, ended.includes(row.status)], `${about} is ${row.status}`).toEqual([about, true])
    expect([about, ['succeeded', 'refunded'].includes(row.status)]).toEqual([about, charge !== undefined])
  }
  expect(intents.filter(({ status }) => status === 'processing' || status === 'requires_action')).toEqual([])
  expect([seed, (await shop.books()).sum]).toEqual([seed, 0])
}
