import { array, assert, bigInt, integer, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { confirmations, rates } from '../../../../../config/crypto-settings.ts'
import type { KnownPayment } from '../gateway.ts'
import { confirmationsFor, type Arrival } from './chain.ts'
import { judge } from './judge.ts'
import { coinsOf, divideUp, ratioOf, unitsOf } from './units.ts'

test('amounts of coins survive as text, exactly', () => {
  assert(
    property(bigInt(0n, 10n ** 30n - 1n), integer({ min: 0, max: 18 }), (units, decimals) => {
      expect(unitsOf(coinsOf(units, decimals), decimals)).toBe(units)
    }),
  )
  expect(coinsOf(31_250_000n, 8)).toBe('0.3125')
  expect(() => unitsOf('0.123456789', 8)).toThrow(RangeError)
  expect([ratioOf('85.20'), ratioOf('0'), ratioOf('1e3'), ratioOf('')]).toEqual([
    { numerator: 8_520n, denominator: 100n },
    undefined,
    undefined,
    undefined,
  ])
})

test('settings refuse what cannot be meant', () => {
  expect(confirmationsFor(confirmations('0:1,10000:3'), 9_999)).toBe(1)
  expect(confirmationsFor(confirmations('0:1,10000:3'), 10_000)).toBe(3)
  for (const wrong of ['', '5:1', '0:0', '0:2,0:3', '0:2,50:x']) expect(() => confirmations(wrong), wrong).toThrow()
  for (const wrong of ['', 'USD', 'USD=0', 'USD=1e3', 'XXY=1']) expect(() => rates(wrong), wrong).toThrow()
  expect(rates('USD=85.20, EUR=79')).toEqual(
    new Map([
      ['USD', '85.20'],
      ['EUR', '79'],
    ]),
  )
})

describe('an invoice', () => {
  const chain = { coin: 'ltc', decimals: 8, confirmations: [[0, 1]] as const, uri: () => '' }
  const known = (units: bigint, amount: number, stored: Partial<KnownPayment> = {}): KnownPayment => ({
    id: '00000000-0000-7000-8000-000000000001',
    total: { amount, currency: 'USD' },
    received: 0,
    isOpen: true,
    expiresAt: 1_000,
    data: { invoice: { units: String(units), address: 'a', chain: {}, late: {}, lost: { count: 0, amount: 0 } } },
    ...stored,
  })
  const arrival = (units: bigint, more: Partial<Arrival> = {}): Arrival => {
    return { id: 'tx:0', units, confirmations: 1, at: 500, ...more }
  }

  test('that is paid exactly, in any number of parts, is paid to the cent', () => {
    const amounts = integer({ min: 1, max: 100_000_000 })
    const prices = bigInt(1n, 10n ** 12n)
    assert(
      property(amounts, prices, array(bigInt(1n, 1_000n), { maxLength: 5 }), (amount, price, weights) => {
        // The price of a coin of 8 digits, in cents.
        const units = divideUp(BigInt(amount) * 10n ** 8n, price)
        const parts: bigint[] = []
        let left = units
        for (const weight of weights) {
          const part = (units * weight) / 10_000n
          if (part > 0n && part < left) {
            parts.push(part)
            left -= part
          }
        }
        const arrivals = [...parts, left].map((part, index) => arrival(part, { id: `tx:${index}` }))
        const seen = judge(chain, known(units, amount), { arrivals, now: 0 })
        expect([seen.status, seen.received]).toEqual(['succeeded', amount])
      }),
    )
  })

  test('values a late arrival once, whatever the rate is later', () => {
    const late = arrival(100n, { at: 2_000 })
    const rate = { numerator: 3n, denominator: 1n }
    const first = judge(chain, known(100n, 500, { isOpen: false }), { arrivals: [late], now: 3_000, rate })
    expect([first.status, first.received]).toEqual(['succeeded', 300])
    const stored = { isOpen: false, received: 300, data: first.data ?? {} }
    const doubled = { numerator: 6n, denominator: 1n }
    const second = judge(chain, known(100n, 500, stored), { arrivals: [late], now: 4_000, rate: doubled })
    expect(second.received).toBe(300)
  })

  test('does not lose money when more blocks are needed because more has arrived', () => {
    const rules = {
      ...chain,
      confirmations: [
        [0, 1],
        [600, 3],
      ] as const,
    }
    const arrivals = [arrival(100n), arrival(50n, { id: 'tx:1' })]
    const seen = judge(rules, known(100n, 500, { isOpen: false, received: 500 }), { arrivals, now: 100 })
    expect([seen.received, seen.dispute]).toEqual([500, undefined])
  })
})
