import { expect, test } from 'vitest'
import { encodeCursor } from './page.ts'
import { pageOfAll, type NumberedPageQuery } from './page-of-all.ts'

const idOf = (index: number) => `01939c5e-7a3b-7c21-9f58-00000000000${index}`
/** Five rows, newest first. Two of them were made at the same time. */
const rows = [5, 4, 3, 2, 1].map((index) => ({
  id: idOf(index),
  createdAt: `2026-11-21T10:00:0${index === 4 ? 3 : index}.000000Z`,
}))

function page(query: NumberedPageQuery) {
  const { items, nextCursor, ...rest } = pageOfAll(rows, query, (row) => row)
  return { ids: items.map(({ id }) => Number(id.at(-1))), nextCursor, ...rest }
}

test('pages have numbers, and the last one has no next page', () => {
  const total = rows.length
  expect(page({ limit: 2 })).toEqual({ ids: [5, 4], limit: 2, total, page: 1, nextCursor: encodeCursor(rows[1]!) })
  expect(page({ limit: 2, page: 2 })).toMatchObject({ ids: [3, 2], page: 2, nextCursor: encodeCursor(rows[3]!) })
  expect(page({ limit: 2, page: 3 })).toMatchObject({ ids: [1], page: 3, nextCursor: null })
  expect(page({ limit: 2, page: 4 })).toMatchObject({ ids: [], page: 4, nextCursor: null })
  expect(page({ limit: 5 })).toMatchObject({ ids: [5, 4, 3, 2, 1], nextCursor: null })
  expect(page({})).toMatchObject({ limit: 30, total })
})

test('a cursor continues after its row, also if that is gone, and has no number', () => {
  const after = (index: number, createdAt: string) => encodeCursor({ id: idOf(index), createdAt })
  const continued = page({ limit: 2, cursor: after(4, '2026-11-21T10:00:03.000000Z') })
  expect(continued).toMatchObject({ ids: [3, 2], total: rows.length })
  expect(continued).not.toHaveProperty('page')
  expect(page({ cursor: after(3, '2026-11-21T10:00:03.000000Z') }).ids).toEqual([2, 1])
  expect(page({ cursor: after(9, '2026-11-21T10:00:01.500000Z') }).ids).toEqual([1])
  expect(page({ cursor: after(1, '2026-11-21T10:00:01.000000Z') })).toMatchObject({ ids: [], nextCursor: null })
  expect(page({ cursor: after(9, '2026-11-21T10:00:09.000000Z') }).ids).toEqual([5, 4, 3, 2, 1])
})
