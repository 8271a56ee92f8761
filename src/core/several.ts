import { Type, type TSchema } from 'typebox'

/**
 * Filters of lists. A filter takes one value or several, as a repeated parameter (`?status=failed&status=missed`) or
 * with commas (`?status=failed,missed`). What matches any of them is in the list.
 */

/** The maximum number of values of one filter. */
export const MAX_VALUES = 100

interface SeveralOptions {
  readonly description?: string
}

/** A filter by one or several values that contain no commas: ids, states, kinds. */
export function Several<S extends TSchema>(item: S, options: SeveralOptions = {}) {
  return Type.Optional(Type.Array(item, { minItems: 1, maxItems: MAX_VALUES, ...options }))
}

/** A filter by one or several texts. A comma that belongs to a text is sent as `%2C`. */
export function SeveralTexts<S extends TSchema>(item: S, options: SeveralOptions = {}) {
  return Type.Optional(Type.Array(item, { minItems: 1, maxItems: MAX_VALUES, ...options, 'x-commas': 'encoded' }))
}
