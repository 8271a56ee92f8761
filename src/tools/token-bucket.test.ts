import { expect, test } from 'vitest'
import { TokenBucket } from './token-bucket.ts'

const POLICY = { burst: 3, perSecond: 2 }

test('a new bucket gives its burst at once and then refuses', () => {
  const bucket = new TokenBucket(POLICY, 1_000)
  expect([1, 2, 3, 4].map(() => bucket.take(1_000))).toEqual([true, true, true, false])
  expect(bucket.level(1_000)).toBe(0)
})

test('a token is available again as soon as it is refilled', () => {
  const bucket = new TokenBucket(POLICY, 0)
  for (let count = 0; count < 3; count += 1) bucket.take(0)
  expect(bucket.take(499)).toBe(false)
  expect(bucket.take(500)).toBe(true)
  expect(bucket.take(500)).toBe(false)
})

test('a refused call takes no token', () => {
  const bucket = new TokenBucket(POLICY, 0)
  for (let count = 0; count < 3; count += 1) bucket.take(0)
  for (let now = 10; now < 500; now += 10) expect(bucket.take(now)).toBe(false)
  expect(bucket.take(500)).toBe(true)
})

test('a bucket never holds more than its burst', () => {
  const bucket = new TokenBucket(POLICY, 0)
  bucket.take(0)
  expect(bucket.isFull(499)).toBe(false)
  expect(bucket.isFull(500)).toBe(true)
  expect(bucket.level(1_000_000)).toBe(3)
})

test('reading the level takes no token', () => {
  const bucket = new TokenBucket(POLICY, 0)
  expect([bucket.level(0), bucket.level(0)]).toEqual([3, 3])
})
