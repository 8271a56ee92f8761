import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mostAround, type Counted } from './windows.ts'

const posts = (...times: number[]): Counted[] => times.map((at) => ({ at, weight: 1 }))

test.each([
  ['nothing', [], 100, 0],
  ['posts before', [40, 60, 99], 100, 2],
  ['posts after', [101, 120, 149, 150], 100, 3],
  ['the fuller of two sides', [60, 70, 80, 145], 100, 3],
  ['a window over both sides', [80, 90, 110, 120], 100, 4],
  ['not what is one span away', [50, 150], 100, 0],
])('counts %s', (_what, times, at, most) => {
  expect(mostAround(posts(...times), at, 50)).toBe(most)
})

test('is the same as trying every window', () => {
  const count = fc.record({ at: fc.integer({ min: 0, max: 60 }), weight: fc.integer({ min: 0, max: 5 }) })
  fc.assert(
    fc.property(fc.array(count), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 20 }), (list, at, span) => {
      const sums = Array.from({ length: span }, (_, ahead) => {
        const end = at + ahead
        return list.filter((one) => one.at <= end && one.at > end - span).reduce((sum, one) => sum + one.weight, 0)
      })
      expect(mostAround(list, at, span)).toBe(Math.max(...sums))
    }),
    { seed: 20261130 },
  )
})
