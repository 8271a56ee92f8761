import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type PlatformReply, type ReplyReader } from '../http/platform-http.ts'

const DAY_MS = 86_400_000

/**
 * Codes of LinkedIn. DUPLICATE_POST and NONEXISTENT_VERSION are taken from other clients (2026-11). The others are from
 * learn.microsoft.com, LinkedIn API error handling, which could not be read again.
 */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  INVALID_ACCESS_TOKEN: 'auth_expired',
  EXPIRED_ACCESS_TOKEN: 'auth_expired',
  REVOKED_ACCESS_TOKEN: 'auth_expired',
  EMPTY_ACCESS_TOKEN: 'auth_expired',
  ACCESS_DENIED: 'scope_missing',
  DUPLICATE_POST: 'duplicate_content',
  MEMBER_RESTRICTED: 'account_restricted',
  NONEXISTENT_VERSION: 'app_misconfigured',
  VERSION_MISSING: 'app_misconfigured',
  // Token endpoint.
  invalid_client: 'app_misconfigured',
  invalid_client_id: 'app_misconfigured',
  invalid_redirect_uri: 'app_misconfigured',
  unauthorized_scope_error: 'app_misconfigured',
  invalid_grant: 'auth_expired',
}

interface Body {
  readonly code?: string
  readonly message?: string
  readonly serviceErrorCode?: number
  readonly errorDetails?: {
    readonly inputErrors?: readonly { readonly code?: string; readonly description?: string }[]
  }
  readonly error?: string
  readonly error_description?: string
}

/**
 * Errors of LinkedIn: `{ status, code, serviceErrorCode, message, errorDetails }`, and those of RFC 6749 at the token
 * endpoint. There are no budget headers: the portal shows the limits, which reset at midnight UTC.
 */
export const reader: ReplyReader = {
  errorOf: (reply) => {
    const { json, status } = reply
    if (status < 400) return undefined
    const body = (typeof json === 'object' && json !== null ? json : {}) as Body
    const input = body.errorDetails?.inputErrors?.[0]
    const code = input?.code ?? body.code ?? body.error ?? body.serviceErrorCode?.toString()
    const detail = body.message ?? input?.description ?? body.error_description
    if (status === 426) {
      return {
        kind: 'app_misconfigured',
        code,
        detail: `LinkedIn has ended the version of its API that this server uses. Update the server. (${detail})`,
      }
    }
    // The throttle of a day is a quota; those of shorter times are rates.
    if (status === 429 && /\bDAY\b/.test(detail ?? '')) {
      return { kind: 'quota_exhausted', code, detail, retryAfter: secondsToMidnight(reply) }
    }
    if (code?.startsWith('MEDIA_ASSET_') === true) return { kind: 'media_processing', code, detail }
    return { kind: KINDS[code ?? ''] ?? kindOfStatus(status), code, detail }
  },
}

/** Until 00:00 UTC, by LinkedIn’s own clock. */
function secondsToMidnight({ headers }: PlatformReply): number | undefined {
  const now = Date.parse(headers.date ?? '')
  return Number.isNaN(now) ? undefined : Math.ceil((DAY_MS - (now % DAY_MS)) / 1_000)
}
