import { array, assert, bigInt, integer, property } from 'fast-check'
import { expect, test } from 'vitest'
import { allocate, apportion, divideHalfEven, scaled, sum } from './rounding.ts'

test.each([
  [5n, 2n, 2n],
  [7n, 2n, 4n],
  [-5n, 2n, -2n],
  [-7n, 2n, -4n],
  [5n, -2n, -2n],
  [1n, 3n, 0n],
  [2n, 3n, 1n],
  [-2n, 3n, -1n],
  [0n, 7n, 0n],
])('%s / %s is %s', (numerator, denominator, expected) => {
  expect(divideHalfEven(numerator, denominator)).toBe(expected)
})

test('a rounded quotient is the nearest integer, and a half goes to the even one', () => {
  const number = bigInt({ min: -(10n ** 24n), max: 10n ** 24n })
  assert(
    property(number, bigInt({ min: 1n, max: 10n ** 9n }), (numerator, denominator) => {
      const quotient = divideHalfEven(numerator, denominator)
      const twiceOff = (numerator - quotient * denominator) * 2n
      const distance = twiceOff < 0n ? -twiceOff : twiceOff
      expect(distance <= denominator).toBe(true)
      if (distance === denominator) expect(quotient % 2n).toBe(0n)
      expect(divideHalfEven(-numerator, denominator)).toBe(-quotient)
    }),
  )
})

test('a rate is applied exactly, beyond what a float can hold', () => {
  expect(scaled(1_050, 1_900, 10_000)).toBe(200)
  expect(scaled(1_150, 1_900, 10_000)).toBe(218)
  expect(scaled(9_007_199_254_740_991, 1, 3)).toBe(3_002_399_751_580_330)
  expect(Object.is(scaled(-1, 1, 10), 0)).toBe(true)
  expect(() => scaled(0.5, 1, 1)).toThrow(RangeError)
  expect(() => scaled(1, 1, 0)).toThrow(RangeError)
  expect(() => scaled(Number.MAX_SAFE_INTEGER, 2, 1)).toThrow(RangeError)
})

test.each([
  [100, [1, 1, 1], [34, 33, 33]],
  [100, [1, 1, 4], [17, 17, 66]],
  [-100, [1, 1, 1], [-34, -33, -33]],
  [5, [0, 0, 1], [0, 0, 5]],
  [0, [3, 4], [0, 0]],
])('%s by %j is %j', (whole, weights, expected) => {
  expect(allocate(whole, weights)).toEqual(expected)
})

test('parts add up to the whole, each less than one unit from its exact share', () => {
  const weights = array(integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 30 })
  assert(
    property(integer(), weights, (whole, given) => {
      const total = given.reduce((all, weight) => all + weight, 0)
      if (total === 0) {
        expect(() => allocate(whole, given)).toThrow(RangeError)
        return
      }
      const parts = allocate(whole, given)
      expect(sum(parts)).toBe(whole)
      for (const [index, weight] of given.entries()) {
        const off = BigInt(parts[index] ?? 0) * BigInt(total) - BigInt(whole) * BigInt(weight)
        expect(off < BigInt(total) && -off < BigInt(total)).toBe(true)
      }
    }),
  )
})

test('fractions are rounded to parts that add up to their rounded sum', () => {
  expect(apportion([1n, 1n, 1n], 3n)).toEqual([1, 0, 0])
  expect(apportion([-5n, 15n], 10n)).toEqual([0, 1])
  expect(() => apportion([1n], 0n)).toThrow(RangeError)
  const numerators = array(bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), { maxLength: 20 })
  assert(
    property(numerators, bigInt({ min: 1n, max: 10n ** 9n }), (given, denominator) => {
      const parts = apportion(given, denominator)
      const total = given.reduce((all, numerator) => all + numerator, 0n)
      expect(BigInt(sum(parts))).toBe(divideHalfEven(total, denominator))
      for (const [index, numerator] of given.entries()) {
        const off = BigInt(parts[index] ?? 0) * denominator - numerator
        expect(off <= denominator && -off < denominator).toBe(true)
      }
    }),
  )
})

test('weights must be integers of at least zero', () => {
  expect(() => allocate(1, [])).toThrow(RangeError)
  expect(() => allocate(1, [-1, 2])).toThrow(RangeError)
  expect(() => allocate(1, [0.5, 0.5])).toThrow(RangeError)
  expect(() => sum([Number.MAX_SAFE_INTEGER, 1])).toThrow(RangeError)
})
