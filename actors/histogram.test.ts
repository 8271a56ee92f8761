import { expect, it } from 'vitest'
import { Histogram } from './histogram.ts'

it('counts a value at the first bound that is not below it, and larger values at the end', () => {
  const histogram = new Histogram([1, 2, 4])
  for (const value of [0, 1, 1.5, 2, 4, 4.5, 100]) histogram.observe(value)
  expect(histogram.data()).toEqual({ bounds: [1, 2, 4], counts: [2, 2, 1, 2], sum: 113, count: 7 })
})

it('returns data that later values do not change', () => {
  const histogram = new Histogram([1])
  const before = histogram.data()
  histogram.observe(1)
  expect(before).toEqual({ bounds: [1], counts: [0, 0], sum: 0, count: 0 })
})
