import { AppError } from '../core/error.ts'
import { StorageFull, StorageUnavailable } from './errors.ts'

/** Handles an error of a read. Returns undefined for a missing file, and throws all other errors. */
export function missing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
  throw storageError(error)
}

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
const UNAVAILABLE = new Set(['EIO', 'EROFS', 'EACCES', 'EPERM', 'ESTALE', 'EMFILE', 'ENFILE'])

/** Converts errors of the disk into errors of the API. Returns other errors unchanged. */
export function storageError(error: unknown): unknown {
  if (error instanceof AppError) return error
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (FULL.has(code)) return StorageFull({ cause: error })
  if (UNAVAILABLE.has(code)) return StorageUnavailable({ cause: error, retryAfter: 10 })
  return error
}
