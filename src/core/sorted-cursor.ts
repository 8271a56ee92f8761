import { isUuid } from '../tools/id.ts'
import { unknownCursor } from './page.ts'

/** The last row of a page of a list that is sorted by a value, then by the id. */
export interface SortedCursor {
  readonly key: string
  readonly id: string
}

/** @param sort a word that tells lists of different orders apart */
export function writeSortedCursor(sort: string, { id, key }: SortedCursor): string {
  return Buffer.from(JSON.stringify([sort, key, id])).toString('base64url')
}

/**
 * @param isKey whether a text can be a key of this order
 * @throws AppError validation_failed for a cursor of another list
 */
export function readSortedCursor(
  text: string | undefined,
  sort: string,
  isKey: (key: string) => boolean,
): SortedCursor | undefined {
  if (text === undefined) return undefined
  try {
    const [written, key, id] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[]
    if (written === sort && typeof key === 'string' && isKey(key) && typeof id === 'string' && isUuid(id)) {
      return { key, id }
    }
  } catch {
    // The text is not JSON, so it is not a cursor.
  }
  throw unknownCursor()
}
