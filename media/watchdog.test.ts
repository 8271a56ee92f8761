import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Watchdog } from './watchdog.ts'

let told: (string | null)[]
let asked: number
let hangs: number
let watchdog: Watchdog

beforeEach(() => {
  vi.useFakeTimers()
  told = []
  asked = hangs = 0
  watchdog = new Watchdog({
    limits: { everyMs: 1_000, silentAfter: 3, hangAfter: 5, startWithin: 10 },
    ask: () => (asked += 1),
    onSilence: (since) => told.push(since),
    onHang: () => (hangs += 1),
  })
})
afterEach(() => {
  watchdog.stop()
  vi.useRealTimers()
})

const pass = (seconds: number) => vi.advanceTimersByTime(seconds * 1_000)

test('silence is told, then taken for a hang, once', () => {
  watchdog.heard()
  pass(2)
  expect([asked, told.length, hangs]).toEqual([2, 0, 0])
  pass(1)
  expect([told.length, hangs]).toEqual([1, 0])
  pass(60)
  expect([told.length, hangs]).toEqual([1, 1])
})

test('a word ends the silence, and is told only after one', () => {
  watchdog.heard()
  watchdog.heard()
  expect(told).toEqual([])
  pass(4)
  watchdog.heard()
  expect(told).toEqual([expect.any(String), null])
  pass(4)
  expect(hangs).toBe(0)
})

test('a child that starts has longer, and its silence is no news', () => {
  pass(9)
  expect([told.length, hangs]).toEqual([0, 0])
  pass(1)
  expect(hangs).toBe(1)
})
