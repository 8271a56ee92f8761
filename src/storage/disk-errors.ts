import { AppError } from '../core/error.ts'
import { StorageFull, StorageUnavailable } from './errors.ts'

/** Nothing there is an answer, not an error. */
export function missing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
  throw storageError(error)
}

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
const AWAY = new Set(['EIO', 'EROFS', 'EACCES', 'EPERM', 'ESTALE', 'EMFILE', 'ENFILE'])

/** A fault of the disk, as the caller is to see it; every other error stays what it is. */
export function storageError(error: unknown): unknown {
  if (error instanceof AppError) return error
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (FULL.has(code)) return StorageFull({ cause: error })
  if (AWAY.has(code)) return StorageUnavailable({ cause: error, retryAfter: 10 })
  return error
}
