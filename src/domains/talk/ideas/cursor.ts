import { isUuid, unknownCursor } from '../../../core/page.ts'

/** The last row of a page in its order. */
export interface ListCursor {
  /** The value by which the list is sorted, before the id. */
  readonly key: string
  readonly id: string
}

/** @param sort a word that tells lists of different orders apart */
export function writeCursor(sort: string, { id, key }: ListCursor): string {
  return Buffer.from(JSON.stringify([sort, key, id])).toString('base64url')
}

/** @throws AppError validation_failed for a cursor of another list */
export function readCursor(
  text: string | undefined,
  sort: string,
  isKey: (key: string) => boolean,
): ListCursor | undefined {
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

/** The beginning of a key of the manual order, for a cursor. The rest of a long key is looked up by the id. */
export const cutRank = (rank: string) => rank.slice(0, 40)
export const isRank = (key: string) => /^[A-Za-z0-9]{1,40}$/.test(key)
