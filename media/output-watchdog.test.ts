import { expect, test } from 'vitest'
import { OutputWatchdog } from './output-watchdog.ts'

const LIMITS = { firstMs: 10_000, silentMs: 3_000 }

/** Gives the program input every 20 ms. @returns the milliseconds until it counts as hanging */
function timeUntilHang(watchdog: OutputWatchdog, from = 0): number {
  for (let now = from; now < from + 20_000; now += 20) if (watchdog.noteInput(now)) return now - from
  return Infinity
}

test('a running program hangs after three seconds of input without output', () => {
  const watchdog = new OutputWatchdog(LIMITS)
  watchdog.noteInput(0)
  watchdog.noteOutput()
  expect(timeUntilHang(watchdog, 20)).toBeGreaterThan(2_900)
  watchdog.noteOutput()
  expect(timeUntilHang(watchdog, 5_000)).toBeLessThan(3_100)
})

test('a program that has just started has more time', () => {
  expect(timeUntilHang(new OutputWatchdog(LIMITS))).toBeGreaterThan(9_000)
})

test('a pause of the sender or of this process is not a hang', () => {
  const watchdog = new OutputWatchdog(LIMITS)
  watchdog.noteInput(0)
  watchdog.noteOutput()
  // Delayed input arrives in a burst, before the output is read.
  for (let count = 0; count < 500; count += 1) expect(watchdog.noteInput(60_000)).toBe(false)
})
