import { expect, test } from 'vitest'
import { OutputWatch } from './output-watch.ts'

const LIMITS = { firstMs: 10_000, silentMs: 3_000 }

/** Hands it something every 20 ms. @returns after how long it is taken to hang, milliseconds */
function fedUntilHang(watch: OutputWatch, from = 0): number {
  for (let now = from; now < from + 20_000; now += 20) if (watch.fed(now)) return now - from
  return Infinity
}

test('a program that has spoken hangs when it is fed for three seconds and gives nothing out', () => {
  const watch = new OutputWatch(LIMITS)
  watch.fed(0)
  watch.heard()
  expect(fedUntilHang(watch, 20)).toBeGreaterThan(2_900)
  watch.heard()
  expect(fedUntilHang(watch, 5_000)).toBeLessThan(3_100)
})

test('one that has just been started has longer', () => {
  expect(fedUntilHang(new OutputWatch(LIMITS))).toBeGreaterThan(9_000)
})

test('neither a pause of the one who sends nor one of this process is a hang', () => {
  const watch = new OutputWatch(LIMITS)
  watch.fed(0)
  watch.heard()
  // What was held up comes in a burst, before what the program gave out is read.
  for (let count = 0; count < 500; count += 1) expect(watch.fed(60_000)).toBe(false)
})
