import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Watchdog } from './watchdog.ts'

let reports: (string | null)[]
let pings: number
let hangs: number
let watchdog: Watchdog

beforeEach(() => {
  vi.useFakeTimers()
  reports = []
  pings = hangs = 0
  watchdog = new Watchdog({
    limits: { intervalMs: 1_000, unresponsiveAfter: 3, killAfter: 5, startWithin: 10 },
    ping: () => (pings += 1),
    onUnresponsive: (since) => reports.push(since),
    onHang: () => (hangs += 1),
  })
})
afterEach(() => {
  watchdog.stop()
  vi.useRealTimers()
})

const pass = (seconds: number) => vi.advanceTimersByTime(seconds * 1_000)

test('a child that stops answering is reported, and then counts as hanging, once', () => {
  watchdog.noteMessage()
  pass(2)
  expect([pings, reports.length, hangs]).toEqual([2, 0, 0])
  pass(1)
  expect([reports.length, hangs]).toEqual([1, 0])
  pass(60)
  expect([reports.length, hangs]).toEqual([1, 1])
})

test('a message from an unresponsive child is reported, other messages are not', () => {
  watchdog.noteMessage()
  watchdog.noteMessage()
  expect(reports).toEqual([])
  pass(4)
  watchdog.noteMessage()
  expect(reports).toEqual([expect.any(String), null])
  pass(4)
  expect(hangs).toBe(0)
})

test('a starting child has more time and is not reported as unresponsive', () => {
  pass(9)
  expect([reports.length, hangs]).toEqual([0, 0])
  pass(1)
  expect(hangs).toBe(1)
})
