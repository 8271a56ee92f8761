import { isUuid } from '../tools/id.ts'
import type { AppError } from './error.ts'
import { ValidationFailed } from './errors.ts'
import { Input, Type } from './schema.ts'
import type { PageResult } from './reply.ts'

/**
 * Keyset pagination over `(created_at, id)`, newest first. Pages stay stable while rows are inserted. A cursor is
 * opaque to callers and names the last row of the previous page.
 */
export interface Cursor {
  /** ISO 8601 with microseconds, in PostgreSQL's format. */
  readonly createdAt: string
  readonly id: string
}

export const pageFields = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 30, description: 'Rows per page. 30 by default, at most 100.' }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`pagination.nextCursor` of the previous page' })),
}

export const PageQuery = Input(pageFields)

export interface PageRequest {
  readonly limit: number
  readonly after: Cursor | undefined
}

export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(`${cursor.createdAt}|${cursor.id}`).toString('base64url')
}

/**
 * Reads `limit` and `cursor` of a query.
 * @throws ValidationFailed for an invalid cursor
 */
export function pageRequest(query: { limit?: number; cursor?: string }): PageRequest {
  return { limit: query.limit ?? 30, after: query.cursor === undefined ? undefined : decodeCursor(query.cursor) }
}

function decodeCursor(text: string): Cursor {
  const [createdAt = '', id = ''] = Buffer.from(text, 'base64url').toString().split('|', 2)
  if (!isTimestamp(createdAt) || !isUuid(id)) {
    throw unknownCursor()
  }
  return { createdAt, id }
}

/** The error for an invalid cursor. */
export function unknownCursor(): AppError {
  const message = 'must be a `nextCursor` from an earlier page'
  return ValidationFailed({ errors: [{ path: '/query/cursor', code: 'cursor', message }] })
}

/** Whether a text is a valid timestamp for both the database and JavaScript. */
export function isTimestamp(text: string): boolean {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d{1,6})?(?:Z|\+00(?::?00)?)$/.exec(text) ?? []
  if (day === undefined || day.startsWith('0000')) return false
  const at = new Date(`${day}T${time}Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(`${day}T${time}`)
}

/**
 * One page of several lists, each with `limit + 1` rows, newest first. A row that moves from one list to another while
 * they are read is in the page once.
 */
export function mergedPages<R extends { readonly id: string }>(
  pages: readonly (readonly R[])[],
  { limit }: Pick<PageRequest, 'limit'>,
): R[] {
  const rows = [...new Map(pages.flat().map((row) => [row.id, row])).values()]
  return rows.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit + 1)
}

/**
 * Cuts `limit + 1` fetched rows to one page. The extra row only shows that there are more.
 * @param view maps a row to the API's view of it
 * @param key the row's position in the order
 */
export function pageOf<R, T>(
  rows: readonly R[],
  limit: number,
  key: (row: R) => Cursor,
  view: (row: R) => T,
): PageResult<T> {
  const shown = rows.length > limit ? rows.slice(0, limit) : rows
  const last = shown.at(-1)
  return {
    items: shown.map(view),
    limit,
    nextCursor: rows.length > limit && last !== undefined ? encodeCursor(key(last)) : null,
  }
}
