import { MediaWorkError } from '../errors.ts'
import type { ThumbnailSize } from '../types.ts'

const MAX_SIZES = 8
const MIN_EDGE = 16
const MAX_EDGE = 4096
const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** @throws MediaWorkError `invalid_settings` */
export function checkSizes(sizes: readonly ThumbnailSize[]): void {
  const invalid = (message: string) => new MediaWorkError('invalid_settings', message)
  if (sizes.length === 0 || sizes.length > MAX_SIZES) throw invalid(`There must be one to ${MAX_SIZES} sizes.`)
  if (new Set(sizes.map(({ name }) => name)).size < sizes.length) throw invalid('Two sizes have the same name.')
  for (const { name, edge, fit } of sizes) {
    if (!NAME.test(name)) throw invalid('The name of a size can have up to 32 lower-case letters, digits, - and _.')
    if (!Number.isInteger(edge) || edge < MIN_EDGE || edge > MAX_EDGE) {
      throw invalid(`An edge must have ${MIN_EDGE} to ${MAX_EDGE} pixels.`)
    }
    if (fit !== undefined && fit !== 'inside' && fit !== 'cover')
      throw invalid('The fit of a size must be "inside" or "cover".')
  }
}
