import { expect, test } from 'vitest'
import { dropOldest } from './drop-oldest.ts'

test('keeps the newest entries of a map or set', () => {
  const map = new Map([1, 2, 3, 4].map((key) => [key, key]))
  dropOldest(map, 4)
  expect(map.size).toBe(4)
  dropOldest(map, 2)
  expect([...map.keys()]).toEqual([3, 4])
  const set = new Set(['a', 'b'])
  dropOldest(set, 0)
  expect(set.size).toBe(0)
})
