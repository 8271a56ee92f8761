import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startLitecoin, type Litecoin } from '../support/litecoin.ts'
import { startShop, type Shop } from '../support/payments.ts'
import { PRICE } from '../support/recording-purpose.ts'

/** Payments in a coin of the Bitcoin family, through a real node. */

let shop: Shop
let node: Litecoin
let price = '80'
const rates = createServer((request, reply) => {
  reply.end(request.url === '/ltc/USD' ? JSON.stringify({ rate: price }) : '')
})

beforeAll(async () => {
  node = await startLitecoin(new ManualClock().now())
  await once(rates.listen(0, '127.0.0.1'), 'listening')
  shop = await startShop({
    CRYPTO_NODE_URL: node.url,
    CRYPTO_NODE_COIN: 'ltc',
    CRYPTO_RATES: `http://127.0.0.1:${(rates.address() as AddressInfo).port}/{coin}/{currency}`,
    CRYPTO_CONFIRMATIONS: '0:1,10000:3',
  })
})
afterAll(async () => {
  await shop?.stop()
  rates.close()
  await node?.stop()
})

let users = 0
async function newPayer(): Promise<{ name: string; userId: string }> {
  users += 1
  const name = `coins-${users}`
  const { id } = await shop.world.user(name)
  return { name, userId: id }
}

async function invoice(name: string, amount = 2_500) {
  const reply = await shop.world.as(name).call('POST /api/payments/crypto', { body: { amount, coin: 'ltc' } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

async function verify(name: string, { payment: { reference } }: { payment: { reference: string } }) {
  const reply = await shop.world.as(name).call('POST /api/payments/verify', { body: { reference } })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data
}

/** Time passes here and at the node. */
async function pass(ms: number): Promise<void> {
  shop.clock.advance(ms)
  await node.setTime(shop.clock.now())
}

const books = async () => (await shop.books()).sum

describe('an invoice', () => {
  test('has its own address and an exact amount, and is settled when it has its confirmations', async () => {
    const { name, userId } = await newPayer()
    const config = await shop.world.as(name).call('GET /api/payments/config')
    expect(config.body.data.gateways).toContainEqual(
      expect.objectContaining({ key: 'crypto-ltc', kind: 'crypto', coins: ['ltc'], currencies: ['USD'] }),
    )
    const begun = await invoice(name)
    const { crypto, payment } = begun
    expect(crypto).toMatchObject({ coin: 'ltc', coinAmount: '0.3125', receivedCoinAmount: '0', confirmationsNeeded: 1 })
    expect(crypto.uri).toBe(`litecoin:${crypto.address}?amount=0.3125`)
    expect((await invoice(name)).crypto.address).not.toBe(crypto.address)
    await node.pay(crypto.address, '0.3125')
    const waiting = await verify(name, begun)
    expect(waiting).toMatchObject({ payment: { status: 'pending' }, crypto: { receivedCoinAmount: '0.3125' } })
    await node.mine(1)
    const twins = await Promise.all(Array.from({ length: 20 }, () => verify(name, begun)))
    expect(new Set(twins.map((twin) => twin.payment.status))).toEqual(new Set(['succeeded']))
    expect(twins[0]?.payment).toMatchObject({ _id: payment._id, receivedAmount: 2_500, settledTo: 'purpose' })
    expect([await shop.balance(userId), await books()]).toEqual([2_500, 0])
  })

  test('needs more confirmations for more money', async () => {
    const { name } = await newPayer()
    const begun = await invoice(name, 20_000)
    expect(begun.crypto).toMatchObject({ coinAmount: '2.5', confirmationsNeeded: 3 })
    await node.pay(begun.crypto.address, '2.5')
    await node.mine(2)
    expect((await verify(name, begun)).payment.status).toBe('pending')
    await node.mine(1)
    expect((await verify(name, begun)).payment.status).toBe('succeeded')
  })

  test('that is paid in parts is settled by the last part, and what is too much goes to the wallet', async () => {
    const { name, userId } = await newPayer()
    const begun = await shop.desk.charges.initialize(
      { userId, purpose: 'credits', input: {} },
      { gateway: 'crypto-ltc' },
    )
    const address = begun.crypto?.address ?? ''
    expect(begun.crypto?.coinAmount).toBe('0.14875')
    await node.pay(address, '0.1')
    await node.mine(1)
    expect((await verify(name, begun)).payment.status).toBe('pending')
    await node.pay(address, '0.1')
    await node.mine(1)
    const { payment } = await shop.desk.charges.verify({ userId }, begun.payment.reference)
    expect(payment).toMatchObject({ status: 'succeeded', settledTo: 'purpose', receivedAmount: 1_600 })
    expect([await shop.grants(payment._id), await shop.balance(userId)]).toEqual([1, 1_600 - PRICE])
    // More comes after it was settled.
    await node.pay(address, '0.05')
    await node.mine(1)
    await shop.desk.charges.verify({ userId }, begun.payment.reference)
    expect([await shop.balance(userId), await books()]).toEqual([2_000 - PRICE, 0])
  })

  test('that was paid too little goes to the wallet when its time is over', async () => {
    const { name, userId } = await newPayer()
    const begun = await invoice(name)
    await node.pay(begun.crypto.address, '0.3')
    await node.mine(1)
    expect((await verify(name, begun)).payment.status).toBe('pending')
    await pass(61 * MINUTE)
    await shop.desk.sweeper.sweep()
    const after = await verify(name, begun)
    expect(after.payment).toMatchObject({ status: 'succeeded', settledTo: 'wallet', receivedAmount: 2_400 })
    expect(await shop.balance(userId)).toBe(2_400)
  })

  test('waits for coins that were sent in time', async () => {
    const { name } = await newPayer()
    const begun = await invoice(name)
    await node.pay(begun.crypto.address, '0.3125')
    await pass(2 * HOUR)
    await shop.desk.sweeper.sweep()
    expect((await verify(name, begun)).payment.status).toBe('pending')
    await node.mine(1)
    expect((await verify(name, begun)).payment).toMatchObject({ status: 'succeeded', settledTo: 'purpose' })
  })

  test('that is paid late is credited to the wallet at the rate of that time, once', async () => {
    const { name, userId } = await newPayer()
    const begun = await invoice(name)
    await pass(61 * MINUTE)
    await shop.desk.sweeper.sweep()
    expect((await verify(name, begun)).payment.status).toBe('expired')
    price = '60'
    await node.pay(begun.crypto.address, '0.3125')
    await node.mine(1)
    await pass(2 * HOUR)
    await shop.desk.sweeper.sweep()
    price = '90'
    await pass(2 * HOUR)
    const after = await verify(name, begun)
    expect(after.payment).toMatchObject({ status: 'succeeded', settledTo: 'wallet', receivedAmount: 1_875 })
    expect([await shop.balance(userId), await books()]).toEqual([1_875, 0])
    price = '80'
    await pass(2 * MINUTE)
  })
})

describe('a reorganization', () => {
  test('takes back a payment before it is settled', async () => {
    const { name } = await newPayer()
    const begun = await invoice(name, 20_000)
    await node.pay(begun.crypto.address, '2.5')
    const block = await node.mine(2)
    await node.takeBack(block)
    await node.mineEmpty(3)
    expect((await verify(name, begun)).payment.status).toBe('pending')
    await node.mine(3)
    expect((await verify(name, begun)).payment.status).toBe('succeeded')
  })

  test('takes back money that was settled, and gives it again with the block', async () => {
    const { name, userId } = await newPayer()
    const begun = await invoice(name)
    await node.pay(begun.crypto.address, '0.3125')
    const held = async () => {
      const row = await shop.app.database.row<{ balance: number }>(
        `select balance from ledger_accounts where kind = 'gateway:crypto-ltc' and unit = 'USD'`,
      )
      return row?.balance ?? 0
    }
    const before = await held()
    for (let round = 0; round < 2; round += 1) {
      const block = await node.mine(1)
      expect((await verify(name, begun)).payment.status).toBe('succeeded')
      expect((await held()) - before).toBe(-2_500)
      await node.takeBack(block)
      await node.mineEmpty(2)
      expect((await verify(name, begun)).payment).toMatchObject({ status: 'disputed', receivedAmount: 2_500 })
      expect([(await held()) - before, await books()]).toEqual([0, 0])
    }
    await node.mine(1)
    expect((await verify(name, begun)).payment.status).toBe('succeeded')
    expect([(await held()) - before, await shop.balance(userId), await books()]).toEqual([-2_500, 2_500, 0])
  })
})

test('the reconciliation finds what the sweeper has not seen, and reports it once', async () => {
  const { name, userId } = await newPayer()
  const begun = await invoice(name)
  await node.pay(begun.crypto.address, '0.3125')
  await node.mine(1)
  expect(await shop.desk.reconciliation.run()).toBeGreaterThan(0)
  expect(await shop.balance(userId)).toBe(2_500)
  expect(await shop.desk.reconciliation.run()).toBe(0)
})

test('a rate that is unknown and a node that is away are named as such, and nothing is charged', async () => {
  const { name } = await newPayer()
  price = 'none'
  await pass(2 * MINUTE)
  const body = { amount: 2_500, coin: 'ltc' }
  const refused = await shop.world.as(name).call('POST /api/payments/crypto', { body })
  expect([refused.status, refused.body.code]).toEqual([503, 'gateway_unavailable'])
  price = '80'
  const unknown = await shop.world.as(name).call('POST /api/payments/crypto', { body: { ...body, coin: 'xmr' } })
  expect([unknown.status, unknown.body.code]).toEqual([409, 'gateway_not_configured'])
  const begun = await invoice(name)
  await node.call('unloadwallet', ['crier'], '')
  const away = await shop.world
    .as(name)
    .call('POST /api/payments/verify', { body: { reference: begun.payment.reference } })
  expect([away.status, away.body.code]).toEqual([503, 'gateway_unavailable'])
  await pass(DAY)
  await shop.desk.sweeper.sweep()
  await node.call('loadwallet', ['crier'], '')
  expect((await verify(name, begun)).payment.status).toBe('expired')
})
