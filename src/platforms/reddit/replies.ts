import type { ErrorKind, PlatformErrorOptions } from '../error-kinds.ts'
import { kindOfStatus, type PlatformReply, type ReplyReader } from '../http/platform-http.ts'

/** Errors of forms come with status 200: `{ json: { errors: [[code, message, field]] } }`. */
interface Body {
  readonly json?: { readonly errors?: readonly (readonly [string, string, string?])[]; readonly ratelimit?: number }
  readonly error?: string | number
  readonly message?: string
  readonly reason?: string
  readonly explanation?: string
}

type Found = { readonly kind: ErrorKind } & PlatformErrorOptions

/**
 * Errors and budgets of Reddit (reddit.com/dev/api, and r2/lib/errors.py of reddit-archive/reddit, 2026-11). Budgets:
 * `X-Ratelimit-Remaining` and `-Reset` in seconds from now.
 */
export const reader: ReplyReader = {
  errorOf: (reply) => {
    const body = (typeof reply.json === 'object' && reply.json !== null ? reply.json : {}) as Body
    const [first] = body.json?.errors ?? []
    if (first !== undefined) return errorOfForm(first, body.json?.ratelimit)
    // Gallery posts report one error outside of `json`, and the token endpoint reports errors with status 200.
    if (reply.status < 400 && typeof body.error !== 'string') return undefined
    return errorOfStatus(reply, body)
  },
  budgetsOf: ({ headers }, now) => {
    const remaining = Number(headers['x-ratelimit-remaining'])
    const reset = Number(headers['x-ratelimit-reset'])
    const used = Number(headers['x-ratelimit-used'])
    if (headers['x-ratelimit-remaining'] === undefined || !Number.isFinite(remaining + reset)) return []
    return [
      {
        name: 'client',
        remaining: Math.floor(remaining),
        ...(Number.isFinite(used) && { limit: Math.round(remaining + used) }),
        resetsAt: now + reset * 1_000,
      },
    ]
  },
}

/**
 * The kinds of codes; codes of other rules of forms are `validation`. Those that r2/lib/errors.py lacks came later, and are
 * as users report them.
 */
const CODES: Readonly<Record<string, ErrorKind>> = {
  RATELIMIT: 'rate_limited',
  QUOTA_FILLED: 'quota_exhausted',
  USER_REQUIRED: 'auth_expired',
  ALREADY_SUB: 'duplicate_content',
  SUBREDDIT_NOTALLOWED: 'account_restricted',
  SUBREDDIT_NO_ACCESS: 'account_restricted',
  USER_BLOCKED: 'account_restricted',
  USER_MUTED: 'account_restricted',
  BANNED_FROM_SUBREDDIT: 'account_restricted',
  VERIFIED_USER_REQUIRED: 'account_restricted',
  NO_VERIFIED_EMAIL: 'account_restricted',
  DOMAIN_BANNED: 'policy_rejected',
  SPAM: 'policy_rejected',
  HATE_CONTENT: 'policy_rejected',
  SUBMIT_VALIDATION_BODY_BLACKLISTED_STRING: 'policy_rejected',
  SUBMIT_VALIDATION_TITLE_BLACKLISTED_STRING: 'policy_rejected',
  SUBMIT_VALIDATION_DOMAIN_BLACKLIST: 'policy_rejected',
  IMAGE_ERROR: 'media_processing',
  BAD_IMAGE: 'media_processing',
  BAD_VIDEO: 'media_processing',
  INVALID_MEDIA: 'media_processing',
  THREAD_LOCKED: 'unsupported',
  DELETED_COMMENT: 'unsupported',
  TOO_OLD: 'unsupported',
}

function errorOfForm([code, message, field]: readonly [string, string, string?], seconds: number | undefined): Found {
  const kind = CODES[code] ?? 'validation'
  const retryAfter =
    kind === 'rate_limited' ? (seconds === undefined ? waitOf(message) : Math.ceil(seconds)) : undefined
  return {
    kind,
    code,
    detail: field === undefined || field === '' ? message : `${message} (${field})`,
    mayHaveHappened: false,
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

/** “Take a break for 9 minutes before trying again.” */
function waitOf(message: string): number | undefined {
  const [, count, unit] = /(\d{1,6}) (second|minute|hour)/.exec(message) ?? []
  return count === undefined ? undefined : Number(count) * (unit === 'hour' ? 3_600 : unit === 'minute' ? 60 : 1)
}

function errorOfStatus({ headers, status, target = '' }: PlatformReply, body: Body): Found {
  const code = body.reason ?? (typeof body.error === 'string' ? body.error : undefined)
  const detail = body.explanation ?? body.message
  return { kind: kindOf(status, target, code, headers['www-authenticate'] ?? ''), code, detail }
}

function kindOf(status: number, target: string, code: string | undefined, challenge: string): ErrorKind {
  if (/\/(?:access_token|revoke_token)$/.test(target)) {
    if (status === 401 || status === 403) return 'app_misconfigured'
    if (status < 500 && status !== 429) return 'auth_expired'
  }
  if (/insufficient_scope/.test(challenge)) return 'scope_missing'
  if (status === 403 || code === 'private' || code === 'banned' || code === 'quarantined') return 'account_restricted'
  return status < 400 ? 'validation' : kindOfStatus(status)
}
