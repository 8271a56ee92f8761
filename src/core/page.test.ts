import { expect, test } from 'vitest'
import { mergedPages, pageOf, pageRequest } from './page.ts'

const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    createdAt: `2026-11-21T10:00:0${index}.000001Z`,
    id: `01939c5e-7a3b-7c21-9f58-00000000000${index}`,
  }))

const page = (count: number, limit: number) =>
  pageOf(
    rowsOf(count),
    limit,
    (row) => row,
    ({ id }) => id,
  )

test.each([
  ['no rows', 0, 0],
  ['fewer rows than the limit', 2, 2],
  ['exactly as many rows as the limit', 3, 3],
])('a page of %s shows them all and is the last', (_what, count, shown) => {
  const { items, nextCursor } = page(count, 3)
  expect(items).toHaveLength(shown)
  expect(nextCursor).toBeNull()
})

test('a page leaves out the extra row, and the next page starts after the last shown row', () => {
  const { items, nextCursor } = page(4, 3)
  expect(items).toEqual(rowsOf(3).map(({ id }) => id))
  expect(pageRequest({ limit: 3, cursor: nextCursor! })).toEqual({ limit: 3, after: rowsOf(3)[2] })
})

test('several lists make one page, newest first, in which a row is once', () => {
  const rows = (...ids: string[]) => ids.map((id) => ({ id }))
  const merged = mergedPages([rows('e', 'c'), rows('d', 'c', 'a'), []], { limit: 3 })
  // One more than the limit shows that there is another page.
  expect(merged).toEqual(rows('e', 'd', 'c', 'a'))
  expect(mergedPages([rows('e', 'c'), rows('d', 'c', 'a')], { limit: 1 })).toEqual(rows('e', 'd'))
  expect(mergedPages([], { limit: 1 })).toEqual([])
})
