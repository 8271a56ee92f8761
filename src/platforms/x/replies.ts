import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type BudgetReport, type ReplyReader } from '../http/platform-http.ts'

/** A problem (RFC 9457), a list of problems, or an error of OAuth. */
interface Body {
  readonly data?: unknown
  readonly title?: string
  readonly detail?: string
  readonly type?: string
  readonly reason?: string
  readonly errors?: readonly { readonly message?: string; readonly detail?: string; readonly type?: string }[]
  readonly error?: string
  readonly error_description?: string
}

/** Headers of the budgets. The last two appear only for some kinds of access. */
const BUDGETS = [
  ['x-rate-limit', 'route'],
  ['x-user-limit-24hour', 'user day'],
  ['x-app-limit-24hour', 'app day'],
] as const

/**
 * Errors of X: problems with `title`, `detail` and `type`, also with status 200 when a resource is missing. Budgets:
 * `x-rate-limit-*` for each route, with the reset in seconds since the epoch (docs.x.com/x-api/fundamentals, Response
 * codes and Rate limits, read 2026-11). X documents the types, but most texts of a 403 and the errors of credits only as
 * users report them.
 */
export const reader: ReplyReader = {
  errorOf: ({ headers, json, status, target = '' }, now = 0) => {
    const body = (typeof json === 'object' && json !== null ? json : {}) as Body
    const first = body.errors?.[0]
    if (status < 400 && (body.data !== undefined || first === undefined)) return undefined
    const type = (body.type ?? first?.type ?? '').replace(/^.*\//, '')
    const messages = [body.error_description, body.detail, first?.message ?? first?.detail].filter(Boolean)
    const detail = messages.length === 0 ? undefined : messages.join(' ')
    const kind = kindOf({ status, target, type, body, text: `${body.title ?? ''} ${detail ?? ''}` }, headers)
    return {
      kind,
      code: body.error ?? body.reason ?? (type === '' || type === 'about:blank' ? body.title : type),
      detail,
      ...((kind === 'rate_limited' || kind === 'quota_exhausted') && retryOf(headers, now)),
    }
  },
  budgetsOf: ({ headers, target = '' }) =>
    BUDGETS.flatMap(([prefix, name]): BudgetReport[] => {
      const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((part) => numberOf(headers, prefix, part))
      if (remaining === undefined || reset === undefined) return []
      const bucket = name === 'route' ? target.replaceAll(/\/\d{5,}/g, '/:id') : name
      const counts = name === 'app day' ? 'app_posts' : 'posts'
      return [
        {
          name: bucket,
          remaining,
          resetsAt: reset * 1_000,
          ...(limit !== undefined && { limit }),
          ...(target === 'POST /2/tweets' && { counts }),
        },
      ]
    }),
}

interface Failure {
  readonly status: number
  readonly target: string
  readonly type: string
  readonly body: Body
  readonly text: string
}

function kindOf({ body, status, target, text, type }: Failure, headers: IncomingHttpHeaders): ErrorKind {
  if (target.includes('/oauth2/')) return kindOfOAuth(body, status)
  if (status === 402 || /credits?\b.*(?:deplet|fulfill)|creditsdepleted|spend(?:ing)? ?(?:cap|limit)/i.test(text)) {
    return 'billing'
  }
  if (type === 'usage-capped') return 'quota_exhausted'
  if (status === 429) {
    const isDay = BUDGETS.slice(1).some(([prefix]) => numberOf(headers, prefix, 'remaining') === 0)
    return isDay ? 'quota_exhausted' : 'rate_limited'
  }
  if (status < 400 || type === 'resource-not-found') return 'unsupported'
  if (status === 400 && /media/i.test(text) && /process|unsupported|corrupt/i.test(text)) return 'media_processing'
  return status === 403 ? kindOfForbidden(text, type, body) : kindOfStatus(status)
}

function kindOfForbidden(text: string, type: string, { reason }: Body): ErrorKind {
  if (/duplicate content/i.test(text)) return 'duplicate_content'
  if (/suspended|locked|restricted/i.test(text)) return 'account_restricted'
  if (type === 'client-forbidden' || reason === 'client-not-enrolled' || /client app is not/i.test(text)) {
    return 'app_misconfigured'
  }
  if (/automated|spam|harmful|polic/i.test(text)) return 'policy_rejected'
  // X says this for a post that is too long for the subscription, or a reply that the author does not allow.
  if (/not permitted to perform|not visible|reply to (?:a|this)/i.test(text)) return 'validation'
  // A video that is too long for the subscription (docs.x.com, Media best practices, 2026-10).
  if (/not allowed to post a video/i.test(text)) return 'validation'
  return 'scope_missing'
}

/** X refuses a refresh token that was used or revoked as `invalid_request`. */
function kindOfOAuth({ error, error_description: description = '' }: Body, status: number): ErrorKind {
  if (error === 'unauthorized_client' || error === 'invalid_client') return 'app_misconfigured'
  if (error === 'invalid_grant' || /value passed for the (?:token|authorization code)/i.test(description)) {
    return 'auth_expired'
  }
  return status === 401 || status === 403 ? 'app_misconfigured' : kindOfStatus(status)
}

function retryOf(headers: IncomingHttpHeaders, now: number): { retryAfter?: number } {
  if (headers['retry-after'] !== undefined) return {}
  const resets = BUDGETS.flatMap(([prefix]) =>
    numberOf(headers, prefix, 'remaining') === 0 ? [numberOf(headers, prefix, 'reset') ?? 0] : [],
  )
  return resets.length === 0 ? {} : { retryAfter: Math.max(1, Math.ceil(Math.max(...resets) - now / 1_000)) }
}

function numberOf(headers: IncomingHttpHeaders, prefix: string, part: string): number | undefined {
  const text = headers[`${prefix}-${part}`]
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : undefined
}
