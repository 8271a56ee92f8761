import type { FileOptions } from '../core/reply.ts'
import { StorageUnavailable } from './errors.ts'
import type { Storage } from './storage.ts'

/**
 * The `open` of a file reply. It throws storage_unavailable if the content is missing: only files that were stored have a
 * row.
 */
export function contentOf(storage: Storage, key: string): FileOptions['open'] {
  return async (range) => {
    const content = await storage.blocks(key, range)
    if (content === undefined) throw StorageUnavailable({ retryAfter: 5 })
    return content
  }
}
