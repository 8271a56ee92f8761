import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ManualClock, SECOND } from '../core/clock.ts'
import { Transfers, type Transfer } from './transfers.ts'

const LIMITS = { perNetwork: 3, total: 5, graceMs: 10 * SECOND, bytesPerSecond: 1_000 }

let clock: ManualClock
let transfers: Transfers
let cuts: string[]

beforeEach(() => {
  vi.useFakeTimers()
  clock = new ManualClock()
  cuts = []
  transfers = new Transfers(LIMITS, clock)
})
afterEach(() => vi.useRealTimers())

function begin(network: string, name = network): Transfer {
  return transfers.begin(network, (reason) => cuts.push(`${name} ${reason}`))
}

function pass(ms: number): void {
  clock.advance(ms)
  vi.advanceTimersByTime(SECOND)
}

describe('transfers', () => {
  test('below the minimum rate are closed after the grace period; faster ones stay', () => {
    const slow = begin('a', 'slow')
    const fast = begin('a', 'fast')
    slow.bytes = 9_999
    fast.bytes = 11_001
    pass(10 * SECOND)
    expect(cuts).toEqual([])
    pass(SECOND)
    expect([cuts, transfers.count]).toEqual([['slow slow'], 1])
    pass(SECOND)
    expect([cuts, transfers.count]).toEqual([['slow slow', 'fast slow'], 0])
  })

  test('of one network are limited: the oldest one is closed', () => {
    for (const name of ['1', '2', '3', '4', '5']) begin('a', name)
    begin('b')
    expect(cuts).toEqual(['1 crowded', '2 crowded'])
    expect(transfers.count).toBe(4)
  })

  test('of all networks are limited: the network with the most loses its oldest', () => {
    for (const name of ['a1', 'a2', 'a3']) begin('a', name)
    for (const network of ['b', 'c', 'd']) begin(network)
    expect(cuts).toEqual(['a1 crowded'])
    expect(transfers.count).toBe(5)
  })

  test('free their place when they end, and end only once', () => {
    const first = begin('a', 'first')
    transfers.end(first)
    transfers.end(first)
    for (const name of ['1', '2', '3']) begin('a', name)
    expect([cuts, transfers.count]).toEqual([[], 3])
    for (const name of ['4', '5']) begin('b', name)
    pass(11 * SECOND)
    expect([cuts.length, transfers.count, vi.getTimerCount()]).toEqual([5, 0, 0])
  })
})
