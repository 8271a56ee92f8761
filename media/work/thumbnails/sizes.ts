import { MediaWorkError } from '../errors.ts'
import type { ThumbnailSize } from '../types.ts'

const MOST = 8
const LEAST_EDGE = 16
const GREATEST_EDGE = 4096
const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** @throws MediaWorkError `invalid_settings` */
export function checkSizes(sizes: readonly ThumbnailSize[]): void {
  const wrong = (message: string) => new MediaWorkError('invalid_settings', message)
  if (sizes.length === 0 || sizes.length > MOST) throw wrong(`One to ${MOST} sizes can be made.`)
  if (new Set(sizes.map(({ name }) => name)).size < sizes.length) throw wrong('Two sizes have the same name.')
  for (const { name, edge, fit } of sizes) {
    if (!NAME.test(name)) throw wrong('A size is named by up to 32 lower-case letters, digits, - and _.')
    if (!Number.isInteger(edge) || edge < LEAST_EDGE || edge > GREATEST_EDGE) {
      throw wrong(`An edge has ${LEAST_EDGE} to ${GREATEST_EDGE} pixels.`)
    }
    if (fit !== undefined && fit !== 'inside' && fit !== 'cover') throw wrong('A size fits "inside" or "cover".')
  }
}
