import { expect, test } from 'vitest'
import { RecentMap } from './recent-map.ts'

test('keeps entries that are read, evicts others and holds at most twice its capacity', () => {
  const map = new RecentMap<number>(100)
  map.set('wanted', -1)
  for (let count = 0; count < 10_000; count += 1) {
    map.set(`key ${count}`, count)
    if (count % 50 === 0) expect(map.get('wanted')).toBe(-1)
  }
  let held = 0
  for (let count = 0; count < 10_000; count += 1) if (map.peek(`key ${count}`) !== undefined) held += 1
  expect(held).toBeLessThanOrEqual(200)
  expect(map.get('key 9999')).toBe(9999)
  expect(map.get('key 0')).toBeUndefined()
})

test('deletes from both generations', () => {
  const map = new RecentMap<number>(2)
  for (const key of ['a', 'b', 'c', 'd']) map.set(key, key === 'd' ? 2 : 1)
  expect(map.peek('a')).toBe(1)
  map.deleteWhere((value) => value === 1)
  expect(['a', 'b', 'c', 'd'].map((key) => map.get(key))).toEqual([undefined, undefined, undefined, 2])
  map.clear()
  expect(map.get('d')).toBeUndefined()
})
