import { privateKeyToAddress, type HDKey } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { anvilProgram, newExtendedKey, startAnvil, type Anvil } from '../support/anvil.ts'
import { startShop, type Shop } from '../support/payments.ts'
import { PRICE } from '../support/recording-purpose.ts'

/** Payments in a stablecoin, through a real node of Ethereum. */

const { key, xpub } = newExtendedKey()
const CENT = 10n ** 16n
let shop: Shop
let node: Anvil

describe.skipIf(anvilProgram() === undefined)('payments in a stablecoin', () => {
  beforeAll(async () => {
    node = await startAnvil(new ManualClock().now())
    shop = await startShop({
      EVM_RPC_URL: node.url,
      EVM_CHAIN_ID: String(node.chainId),
      EVM_XPUB: xpub,
      EVM_TOKENS: `usdx=${node.contract}:USD:18`,
      EVM_CONFIRMATIONS: '0:2,10000:4',
    })
  })
  afterAll(async () => {
    await shop?.stop()
    await node?.stop()
  })

  test('are settled by their confirmations, at an address whose key the server does not have', async () => {
    const { name, userId } = await newPayer()
    const first = await invoice(name)
    const second = await invoice(name)
    const addresses = Array.from({ length: 10 }, (_, index) => addressOf(key, index))
    expect(addresses).toContain(first.crypto.address)
    expect(addresses.indexOf(second.crypto.address)).toBe(addresses.indexOf(first.crypto.address) + 1)
    expect(first.crypto).toMatchObject({ coin: 'usdx', coinAmount: '25', confirmationsNeeded: 2 })
    expect(first.crypto.uri).toBe(
      `ethereum:${node.contract}@31337/transfer?address=${first.crypto.address}&uint256=25000000000000000000`,
    )
    await node.pay(first.crypto.address, 2_500n * CENT)
    await node.mine(1)
    expect(await verify(name, first)).toMatchObject({
      payment: { status: 'pending' },
      crypto: { receivedCoinAmount: '25' },
    })
    await node.mine(1)
    const twins = await Promise.all(Array.from({ length: 20 }, () => verify(name, first)))
    expect(new Set(twins.map(({ payment }) => payment.status))).toEqual(new Set(['succeeded']))
    expect((await verify(name, second)).payment.status).toBe('pending')
    expect([await shop.balance(userId), (await shop.books()).sum]).toEqual([2_500, 0])
  })

  test('have no two invoices with one address, however many are made at once', async () => {
    const { name } = await newPayer()
    const begun = await Promise.all(Array.from({ length: 15 }, () => invoice(name)))
    expect(new Set(begun.map(({ crypto }) => crypto.address)).size).toBe(15)
  })

  test('need more confirmations for more money', async () => {
    const { name } = await newPayer()
    const begun = await invoice(name, 10_000)
    await node.pay(begun.crypto.address, 10_000n * CENT)
    await node.mine(3)
    expect((await verify(name, begun)).payment.status).toBe('pending')
    await node.mine(1)
    expect((await verify(name, begun)).payment.status).toBe('succeeded')
  })

  test('that are too much or too little go to the wallet', async () => {
    const { name, userId } = await newPayer()
    const gateway = 'crypto-usdx'
    const begun = await shop.desk.charges.initialize({ userId, purpose: 'credits', input: {} }, { gateway })
    await node.pay(addressIn(begun.crypto), BigInt(PRICE + 10) * CENT)
    await node.mine(2)
    const { payment } = await shop.desk.charges.verify({ userId }, begun.payment.reference)
    expect(payment).toMatchObject({ status: 'succeeded', settledTo: 'purpose', receivedAmount: PRICE + 10 })
    expect([await shop.grants(payment._id), await shop.balance(userId)]).toEqual([1, 10])
    const less = await invoice(name)
    await node.pay(less.crypto.address, 2_499n * CENT)
    await node.mine(2)
    expect((await verify(name, less)).payment.status).toBe('pending')
    await pass(61 * MINUTE)
    await node.mine(1)
    expect((await verify(name, less)).payment).toMatchObject({ status: 'succeeded', settledTo: 'wallet' })
    expect(await shop.balance(userId)).toBe(2_509)
  })

  test('that are late go to the wallet, found by the sweeper', async () => {
    const { name, userId } = await newPayer()
    const begun = await invoice(name)
    await pass(61 * MINUTE)
    await shop.desk.sweeper.sweep()
    expect((await verify(name, begun)).payment.status).toBe('expired')
    await node.pay(begun.crypto.address, 2_500n * CENT)
    await node.mine(2)
    await pass(2 * HOUR)
    await shop.desk.sweeper.sweep()
    const [row] = (await shop.world.as(name).call('GET /api/users/me/transactions')).body.data
    expect(row).toMatchObject({ status: 'succeeded', settledTo: 'wallet', receivedAmount: 2_500 })
    expect(await shop.balance(userId)).toBe(2_500)
  })

  test('are taken back by a reorganization, and come back with their transaction', async () => {
    const { name, userId } = await newPayer()
    const begun = await invoice(name)
    const signed = await node.pay(begun.crypto.address, 2_500n * CENT)
    await node.mine(1)
    await node.reorganize(1)
    expect(await verify(name, begun)).toMatchObject({
      payment: { status: 'pending' },
      crypto: { receivedCoinAmount: '0' },
    })
    await node.send(signed)
    await node.mine(2)
    expect((await verify(name, begun)).payment.status).toBe('succeeded')
    await node.reorganize(2)
    expect((await verify(name, begun)).payment).toMatchObject({ status: 'disputed', receivedAmount: 2_500 })
    expect((await shop.books()).sum).toBe(0)
    await node.send(signed)
    await node.mine(1)
    expect((await verify(name, begun)).payment.status).toBe('succeeded')
    expect([await shop.balance(userId), (await shop.books()).sum]).toEqual([2_500, 0])
  })

  test('are found by the reconciliation', async () => {
    const { name, userId } = await newPayer()
    const begun = await invoice(name)
    await node.pay(begun.crypto.address, 2_500n * CENT)
    await node.mine(2)
    expect(await shop.desk.reconciliation.run()).toBeGreaterThan(0)
    expect(await shop.balance(userId)).toBe(2_500)
    expect(await shop.desk.reconciliation.run()).toBe(0)
  })
})

let users = 0
async function newPayer(): Promise<{ name: string; userId: string }> {
  users += 1
  const name = `tokens-${users}`
  const { id } = await shop.world.user(name)
  return { name, userId: id }
}

async function invoice(name: string, amount = 2_500) {
  const reply = await shop.world.as(name).call('POST /api/payments/crypto', { body: { amount, coin: 'usdx' } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

async function verify(name: string, { payment: { reference } }: { payment: { reference: string } }) {
  const reply = await shop.world.as(name).call('POST /api/payments/verify', { body: { reference } })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data
}

async function pass(ms: number): Promise<void> {
  shop.clock.advance(ms)
  await node.pass(ms)
}

function addressIn(crypto: { readonly address: string } | null): `0x${string}` {
  return (crypto?.address ?? '') as `0x${string}`
}

/** Derived from the private key, by another way than the server's. */
function addressOf(parent: HDKey, index: number): string {
  return privateKeyToAddress(`0x${Buffer.from(parent.deriveChild(index).privateKey ?? []).toString('hex')}`)
}
