import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type ReplyReader } from '../http/platform-http.ts'

/** Reasons of the Data API (developers.google.com/youtube/v3/docs/errors and /docs/videos/insert, 2026-11). */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  quotaExceeded: 'quota_exhausted',
  dailyLimitExceeded: 'quota_exhausted',
  uploadLimitExceeded: 'quota_exhausted',
  rateLimitExceeded: 'rate_limited',
  userRateLimitExceeded: 'rate_limited',
  uploadRateLimitExceeded: 'rate_limited',
  authError: 'auth_expired',
  insufficientPermissions: 'scope_missing',
  ACCESS_TOKEN_SCOPE_INSUFFICIENT: 'scope_missing',
  youtubeSignupRequired: 'account_restricted',
  accountClosed: 'account_restricted',
  accountSuspended: 'account_restricted',
  accountTerminated: 'account_restricted',
  channelClosed: 'account_restricted',
  channelSuspended: 'account_restricted',
  accessNotConfigured: 'app_misconfigured',
  commentsDisabled: 'unsupported',
  videoNotFound: 'unsupported',
  playlistNotFound: 'validation',
  playlistItemsNotAccessible: 'unsupported',
  playlistContainsMaximumNumberOfVideos: 'unsupported',
  invalidImage: 'media_processing',
  mediaBodyRequired: 'validation',
  processingFailure: 'server_error',
  backendError: 'server_error',
  // Token endpoint.
  invalid_grant: 'auth_expired',
  invalid_client: 'app_misconfigured',
  unauthorized_client: 'app_misconfigured',
  redirect_uri_mismatch: 'app_misconfigured',
}

interface Fault {
  readonly message?: string
  readonly status?: string
  readonly errors?: readonly { readonly reason?: string; readonly message?: string }[]
  readonly details?: readonly { readonly reason?: string }[]
}

/**
 * Errors of Google: `{ error: { code, message, errors: [{ reason }] } }`, and those of RFC 6749 at the token endpoint.
 * There are no budget headers: the quota is in the console only.
 */
export const reader: ReplyReader = {
  errorOf: ({ json, status }) => {
    if (status < 400) return undefined
    const { error, error_description: description } = (json ?? {}) as { error?: unknown; error_description?: string }
    if (typeof error === 'string') {
      const hint =
        error === 'invalid_grant' ? ' Access of an app whose consent screen is in testing ends after 7 days.' : ''
      return { kind: KINDS[error] ?? kindOfStatus(status), code: error, detail: `${description ?? error}${hint}` }
    }
    const { details, errors, message, status: name } = (error ?? {}) as Fault
    const reasons = [errors?.[0]?.reason, details?.find(({ reason }) => reason !== undefined)?.reason]
    const code = reasons.find((reason) => KINDS[reason ?? ''] !== undefined) ?? reasons[0] ?? name
    return { kind: KINDS[code ?? ''] ?? kindOfStatus(status), code, detail: message }
  },
}
