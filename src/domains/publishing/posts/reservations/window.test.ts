import { expect, test } from 'vitest'
import { markOf, Window } from './window.ts'

const [FIRST, SECOND, THIRD] = [
  '01920000-0000-7000-8000-000000000001',
  '01920000-0000-7000-8000-000000000002',
  '01920000-0000-7000-8001-000000000002',
] as const
const times = (window: Window, from: number, to: number) => [...window.between(from, to)].map(({ at }) => at)

test('returns reservations in order of time, with both ends of the span', () => {
  const window = new Window()
  window.add({ targetId: FIRST, at: 30, replies: 1, cost: 5 })
  window.add({ targetId: SECOND, at: 10, replies: 2, cost: 6 })
  window.add({ targetId: THIRD, at: 20, replies: 3, cost: 7 })
  expect(times(window, 10, 30)).toEqual([10, 20, 30])
  expect(times(window, 11, 29)).toEqual([20])
  expect([...window.between(10, 10)]).toEqual([{ at: 10, replies: 2, cost: 6, mark: markOf(SECOND) }])
})

test('removes the reservation of one target, also at the same time as another', () => {
  const window = new Window()
  for (const targetId of [FIRST, SECOND, THIRD]) window.add({ targetId, at: 10, replies: 0, cost: 0 })
  expect([window.remove(SECOND), window.remove(SECOND), window.size]).toEqual([true, false, 2])
  expect([...window.between(0, 20)].map(({ mark }) => mark)).toEqual([markOf(FIRST), markOf(THIRD)])
})

test('marks ids by their last 52 bits', () => {
  expect(markOf('01920000-0000-7000-8000-00000000000f')).toBe(15)
  expect(markOf(THIRD)).toBe(2 ** 48 + 2)
  expect(markOf('01920000-0000-7000-bfff-ffffffffffff')).toBe(2 ** 52 - 1)
})
