import { expect, test } from 'vitest'
import { list, StoredList } from './reply.ts'

const pagination = (page: Partial<Parameters<typeof list>[1]>) =>
  list('Things', { items: [], limit: 10, nextCursor: null, ...page }).body.pagination

test('a list says whether there is another page', () => {
  expect(pagination({})).toEqual({ limit: 10, hasMore: false, nextCursor: null })
  expect(pagination({ nextCursor: 'next' })).toEqual({ limit: 10, hasMore: true, nextCursor: 'next' })
})

test('a numbered list has its number, and as many pages as its rows fill', () => {
  expect(pagination({ page: 2, total: 0 })).toMatchObject({ page: 2, total: 0, pages: 0 })
  expect([1, 10, 11].map((total) => pagination({ total }))).toMatchObject([1, 1, 2].map((pages) => ({ pages })))
})

test('a list of stored JSON has the same form', () => {
  const page = { limit: 10, nextCursor: 'next', page: 1, total: 12 }
  const stored = new StoredList('Things', { ...page, items: ['{"n":1}', '{"n":2}'] })
  expect(JSON.parse(stored.text)).toEqual(list('Things', { ...page, items: [{ n: 1 }, { n: 2 }] }).body)
})
