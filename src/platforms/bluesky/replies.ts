import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type PlatformReply, type ReplyReader } from '../http/platform-http.ts'

/**
 * Errors of XRPC: `{ "error": "ExpiredToken", "message": "…" }` (atproto.com/specs/xrpc, and the lexicons of
 * @atproto/api 0.21.0, 2026-11). Those of OAuth have `error_description` (RFC 6749). Budgets: `RateLimit-*`, with the
 * reset in seconds since the epoch (docs.bsky.app, Rate limits, 2026-11).
 */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  AuthenticationRequired: 'auth_expired',
  AuthMissing: 'auth_expired',
  ExpiredToken: 'auth_expired',
  InvalidToken: 'auth_expired',
  invalid_token: 'auth_expired',
  invalid_grant: 'auth_expired',
  AuthFactorTokenRequired: 'validation',
  AccountTakedown: 'account_restricted',
  AccountSuspended: 'account_restricted',
  AccountDeactivated: 'account_restricted',
  AccountNotFound: 'auth_expired',
  RepoTakendown: 'account_restricted',
  RepoSuspended: 'account_restricted',
  RepoDeactivated: 'account_restricted',
  UploadForbidden: 'account_restricted',
  ScopeMissingError: 'scope_missing',
  InsufficientScope: 'scope_missing',
  insufficient_scope: 'scope_missing',
  RateLimitExceeded: 'rate_limited',
  TooManyOpenUploads: 'rate_limited',
  DailyLimitExceeded: 'quota_exhausted',
  BlobNotFound: 'media_processing',
  UnsupportedContentType: 'media_processing',
  BadAspectRatio: 'media_processing',
  UploadFailed: 'media_processing',
  VideoTooLarge: 'validation',
  VideoTooLong: 'validation',
  ServiceOverloaded: 'server_error',
  UpstreamFailure: 'server_error',
  UpstreamTimeout: 'server_error',
  MethodNotImplemented: 'unsupported',
  XRPCNotSupported: 'unsupported',
  invalid_client: 'app_misconfigured',
  invalid_client_metadata: 'app_misconfigured',
  unauthorized_client: 'app_misconfigured',
  invalid_redirect_uri: 'app_misconfigured',
}

/** The error of a reply; undefined if it is a success. */
export function errorOf(reply: Pick<PlatformReply, 'headers' | 'json' | 'status'>) {
  const { json, status } = reply
  if (status < 400) return undefined
  const { error, error_description: description, message } = (json ?? {}) as Readonly<Record<string, unknown>>
  const code = typeof error === 'string' ? error : undefined
  const detail = [message, description].find((text) => typeof text === 'string')
  return {
    kind: KINDS[code ?? ''] ?? kindOfStatus(status),
    code,
    detail: detail ?? code,
    ...(status === 429 && { retryAfter: secondsToReset(reply) }),
  }
}

export const reader: ReplyReader = {
  errorOf,
  budgetsOf: ({ headers }, now) => {
    const [remaining, limit, reset] = ['remaining', 'limit', 'reset'].map((name) =>
      numberOf(headers[`ratelimit-${name}`]),
    )
    if (remaining === undefined) return []
    const [, seconds = '300'] = /;w=(\d+)/.exec(String(headers['ratelimit-policy'] ?? '')) ?? []
    return [
      {
        name: `window of ${seconds} s`,
        remaining,
        ...(limit !== undefined && { limit }),
        resetsAt: reset === undefined ? now + Number(seconds) * 1_000 : reset * 1_000,
      },
    ]
  },
}

/** Seconds until the limit resets, by the clock of the server. */
function secondsToReset({ headers }: Pick<PlatformReply, 'headers'>): number | undefined {
  const reset = numberOf(headers['ratelimit-reset'])
  const date = Date.parse(headers.date ?? '')
  if (reset === undefined || !Number.isFinite(date)) return undefined
  return Math.max(1, Math.ceil(reset - date / 1_000))
}

function numberOf(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : undefined
}
