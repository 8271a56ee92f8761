import { expect, test } from 'vitest'
import { pausedDelayMs, retryDelayMs, togetherMs } from './retry-policy.ts'

test('the wait for another attempt grows with the attempts, and is at least what the platform asks for', () => {
  const longest = (attempts: number, retryAfter?: number) => retryDelayMs(attempts, retryAfter, () => 1)
  expect([1, 2, 3, 20].map((attempts) => longest(attempts))).toEqual([4_000, 8_000, 16_000, 600_000])
  expect(longest(1, 60)).toBe(60_000)
  expect(retryDelayMs(5, undefined, () => 0)).toBe(1_000)
})

test('the wait for a platform whose calls are paused follows the pause and is spread', () => {
  expect([0, 0.5, 1].map((random) => pausedDelayMs(5, () => random))).toEqual([5_000, 6_000, 7_000])
})

test('attempts that fail together begin together, and none too early', () => {
  const now = 1_000_000_010
  const delays = [1_000, 1_001, 1_200, 1_240, 1_241].map((delay) => togetherMs(now, delay))
  expect(delays).toEqual([1_240, 1_240, 1_240, 1_240, 1_490])
})
