import { encodeCursor, pageFields, pageRequest, type Cursor } from './page.ts'
import type { PageResult } from './reply.ts'
import { Type } from './schema.ts'

/** The query of a list that takes page numbers too. */
export const numberedPageFields = {
  ...pageFields,
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100_000, description: 'Number of the page, from 1. Not with `cursor`' }),
  ),
}

export interface NumberedPageQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly page?: number
}

/**
 * A page of rows that are all in memory, newest first.
 * @param key the position of a row in the order
 * @throws AppError validation_failed for an invalid cursor
 */
export function pageOfAll<T>(rows: readonly T[], query: NumberedPageQuery, key: (row: T) => Cursor): PageResult<T> {
  const { after, limit } = pageRequest(query)
  const page = after === undefined ? (query.page ?? 1) : undefined
  const start = page === undefined ? startAfter(rows, key, after as Cursor) : (page - 1) * limit
  const items = rows.slice(start, start + limit)
  const last = items.at(-1)
  const hasMore = start + limit < rows.length && last !== undefined
  const nextCursor = hasMore ? encodeCursor(key(last)) : null
  return { items, limit, nextCursor, total: rows.length, ...(page === undefined ? {} : { page }) }
}

function startAfter<T>(rows: readonly T[], key: (row: T) => Cursor, after: Cursor): number {
  const index = rows.findIndex((row) => isBefore(key(row), after))
  return index === -1 ? rows.length : index
}

function isBefore(one: Cursor, other: Cursor): boolean {
  return one.createdAt === other.createdAt ? one.id < other.id : one.createdAt < other.createdAt
}
