import type { AppError } from '../../../core/error.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import type { ConfiguredPlatform } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import { PlatformNotConfigured, PlatformRefused, PlatformUnavailable } from './errors.ts'

/** Seconds to wait if the platform does not specify a time. */
const RETRY_AFTER = 30

/** Converts an error of a platform to an error of the API. */
export function toAppError(error: PlatformError): AppError {
  const details = {
    kind: error.kind,
    whoActs: error.whoActs,
    platformCode: error.code ?? null,
    platformMessage: error.detail ?? null,
  }
  const message = error.detail === undefined ? error.message : `${error.message} (${error.detail})`
  const isAway = error.retry === 'later' || error.kind === 'network' || error.kind === 'server_error'
  if (isAway)
    return PlatformUnavailable({ message, details, retryAfter: error.retryAfter ?? RETRY_AFTER, cause: error })
  return PlatformRefused({ message, details, cause: error })
}

/** Runs a call to a platform, and converts its errors to errors of the API. @throws AppError */
export async function asAppError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof PlatformError ? toAppError(error) : error
  }
}

/**
 * A platform by its key.
 * @throws AppError not_found; platform_not_configured with what the operator must set
 */
export function requirePlatform(directory: PlatformDirectory, key: string): ConfiguredPlatform {
  const entry = directory.require(key)
  const { configured, platform } = entry
  if (configured) return entry
  const name = platform.key.toUpperCase()
  throw PlatformNotConfigured({
    message: `${platform.title} is not set up on this server. The operator registers an app at ${platform.registration?.url} and sets ${name}_CLIENT_ID and ${name}_CLIENT_SECRET.`,
    details: { platform: platform.key, settings: `${name}_CLIENT_ID, ${name}_CLIENT_SECRET` },
  })
}
