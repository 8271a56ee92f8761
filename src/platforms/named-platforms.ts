import { ValidationFailed } from '../core/errors.ts'
import type { Platform } from './platform.ts'
import { findPlatform, PLATFORMS } from './registry.ts'

/**
 * The platforms that a request names in a list.
 * @param path a JSON pointer to the list, such as `/body/platforms`
 * @throws AppError validation_failed for a key that no platform has
 */
export function namedPlatforms(keys: readonly string[], path: string): Platform[] {
  const found = keys.map((key) => findPlatform(key))
  const errors = found.flatMap((platform, index) =>
    platform === undefined ? [{ path: `${path}/${index}`, code: 'unknown', message: MUST_BE_KNOWN }] : [],
  )
  if (errors.length > 0) throw ValidationFailed({ errors })
  return found.filter((platform) => platform !== undefined)
}

const MUST_BE_KNOWN = `must be the key of a platform: ${PLATFORMS.map(({ key }) => key).join(', ')}`
