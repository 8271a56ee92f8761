import { expect, test } from 'vitest'
import { lentRandom, randomBytesOf, randomHex } from './random.ts'

/** The pool that all random bytes come from. */
const pool = () => Buffer.from(lentRandom(1).buffer)

test('erases secrets from the pool', () => {
  const secret = randomBytesOf(32)
  expect(secret.equals(Buffer.alloc(32))).toBe(false)
  expect(pool().includes(secret)).toBe(false)
})

test('lends bytes of the pool and returns none of them twice', () => {
  const lent = Array.from({ length: 2_000 }, () => lentRandom(8).toString('hex'))
  expect(new Set(lent).size).toBe(2_000)
  const last = Buffer.from(lentRandom(16))
  expect(pool().includes(last)).toBe(true)
})

test('writes two digits for each byte', () => {
  expect(randomHex(20)).toMatch(/^[\da-f]{40}$/)
})
