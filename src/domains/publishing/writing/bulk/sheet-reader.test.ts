import { expect, test } from 'vitest'
import { Slices } from '../../../../core/slices.ts'
import { readPosts } from './sheet-reader.ts'

test('rows are validated in slices, each with at most 20 errors', async () => {
  let looks = 0
  // Each look at the clock finds the slice over.
  const slices = new Slices({ now: () => 0, monotonic: () => (looks += 1) * 1_000 })
  let turns = 0
  const count = () => {
    turns += 1
    turning = setImmediate(count)
  }
  let turning = setImmediate(count)
  const posts = Array.from({ length: 100 }, () => ({ targets: Array.from({ length: 40 }, () => ({ accountId: 'x' })) }))
  const { rows } = await readPosts(posts, slices)
  clearImmediate(turning)
  expect(rows).toHaveLength(100)
  expect(rows.every(({ errors, input }) => input === undefined && errors.length === 20)).toBe(true)
  expect(turns).toBeGreaterThanOrEqual(99)
})
