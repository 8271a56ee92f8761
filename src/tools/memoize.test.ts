import { expect, test } from 'vitest'
import { memoize } from './memoize.ts'

test('calls the function once for each object', () => {
  const calls: object[] = []
  const count = memoize((key: object) => calls.push(key))
  const [a, b] = [{}, {}]
  expect([count(a), count(b), count(a), count(b)]).toEqual([1, 2, 1, 2])
  expect(calls).toEqual([a, b])
})

test('keeps undefined as a result', () => {
  let calls = 0
  const nothing = memoize(() => {
    calls += 1
    return undefined
  })
  const key = {}
  expect([nothing(key), nothing(key), calls]).toEqual([undefined, undefined, 1])
})

test('calls the function again after it threw', () => {
  let calls = 0
  const fails = memoize(() => {
    calls += 1
    throw new Error('no')
  })
  const key = {}
  expect(() => fails(key)).toThrow('no')
  expect(() => fails(key)).toThrow('no')
  expect(calls).toBe(2)
})
