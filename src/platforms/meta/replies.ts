import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorKind, PlatformErrorOptions } from '../error-kinds.ts'
import { kindOfStatus, type BudgetReport, type PlatformReply, type ReplyReader } from '../http/platform-http.ts'

/** An error of a Graph API (developers.facebook.com/docs/graph-api/guides/error-handling, 2026-11). */
interface GraphError {
  readonly message?: string
  readonly type?: string
  readonly code?: number
  readonly error_subcode?: number
  readonly is_transient?: boolean
  readonly error_user_title?: string
  readonly error_user_msg?: string
  readonly fbtrace_id?: string
}

/** The further forms in which Meta's servers report errors. */
interface ErrorBody {
  readonly error?: GraphError | string
  /** The token endpoint of Instagram. */
  readonly error_type?: string
  readonly error_message?: string
  readonly code?: number
  /** The upload server `rupload.facebook.com`. */
  readonly debug_info?: { readonly retriable?: boolean; readonly type?: string; readonly message?: string }
}

/**
 * Subcodes, which say more than the code. Those of tokens: developers.facebook.com/docs/graph-api/guides/error-handling,
 * and Access token debugging and errors. Those of Instagram:
 * /documentation/instagram-platform/instagram-graph-api/reference/error-codes (both 2026-11). Meta has no such page for
 * Threads; its subcode and those of photos are as users report them (2026-11).
 */
const BY_SUBCODE: Readonly<Record<number, ErrorKind>> = {
  // Tokens.
  458: 'auth_expired',
  459: 'account_restricted',
  460: 'auth_expired',
  463: 'auth_expired',
  464: 'account_restricted',
  467: 'auth_expired',
  492: 'auth_expired',
  // A photo that is too large or of a type that Facebook does not take.
  1_366_046: 'media_processing',
  // The code of a sign-in: expired, wrong redirect URI, used.
  36007: 'auth_expired',
  36008: 'app_misconfigured',
  36009: 'auth_expired',
  // The object does not exist, or is not visible to the token.
  33: 'unsupported',
  // Blocked from using a feature for some time.
  1390008: 'account_restricted',
  // A photo that is part of another post.
  1366051: 'duplicate_content',
  // Instagram.
  2207001: 'server_error',
  2207003: 'media_processing',
  2207004: 'media_processing',
  2207005: 'media_processing',
  2207006: 'unsupported',
  2207008: 'unsupported',
  2207009: 'media_processing',
  2207010: 'validation',
  2207020: 'media_processing',
  2207023: 'validation',
  2207026: 'media_processing',
  2207027: 'media_processing',
  2207028: 'validation',
  2207032: 'server_error',
  2207042: 'quota_exhausted',
  2207050: 'account_restricted',
  2207051: 'policy_rejected',
  2207052: 'media_processing',
  2207053: 'media_processing',
  2207057: 'validation',
  // Threads: the container does not exist, or is not ready.
  4279009: 'unsupported',
}

/**
 * Codes (developers.facebook.com/docs/graph-api/guides/error-handling, and Rate limits, 2026-11). 200 to 299 are
 * permissions. Codes of media and containers are in the error codes of Instagram, see above.
 */
const BY_CODE: Readonly<Record<number, ErrorKind>> = {
  [-2]: 'media_processing',
  [-1]: 'server_error',
  1: 'server_error',
  2: 'server_error',
  3: 'app_misconfigured',
  4: 'rate_limited',
  9: 'quota_exhausted',
  10: 'scope_missing',
  17: 'rate_limited',
  24: 'unsupported',
  25: 'account_restricted',
  32: 'rate_limited',
  100: 'validation',
  101: 'app_misconfigured',
  102: 'auth_expired',
  104: 'app_misconfigured',
  190: 'auth_expired',
  191: 'app_misconfigured',
  324: 'media_processing',
  341: 'quota_exhausted',
  352: 'media_processing',
  368: 'policy_rejected',
  506: 'duplicate_content',
  613: 'rate_limited',
  6000: 'media_processing',
  9004: 'media_processing',
  9007: 'media_processing',
  36000: 'media_processing',
  36001: 'media_processing',
  36003: 'media_processing',
  36004: 'validation',
}

/** Errors and budgets of Meta's Graph APIs, which Facebook, Instagram and Threads share. */
export const graphReader: ReplyReader = {
  errorOf: (reply) => {
    const body = (reply.json ?? {}) as ErrorBody
    if (typeof body.error === 'object') return graphError(body.error, reply)
    if (reply.status < 400) return undefined
    if (body.error_type !== undefined) return tokenError(body, reply)
    const { debug_info: upload } = body
    if (upload === undefined) return { kind: kindOfStatus(reply.status) }
    return {
      kind: upload.retriable === true ? 'server_error' : 'media_processing',
      code: upload.type,
      detail: upload.message,
    }
  },
  budgetsOf: (reply, now) => [...usageOf(reply.headers, now), ...quotasOf(reply.json, now)],
}

function graphError(error: GraphError, { headers, status }: PlatformReply) {
  const { code = status, error_subcode: subcode, fbtrace_id: trace, message = '' } = error
  const kind = kindOf(error, status)
  const detail = error.error_user_msg ?? message
  const minutes = Math.max(0, ...businessUsage(headers).map((use) => use.estimated_time_to_regain_access ?? 0))
  return {
    kind,
    code: subcode === undefined ? String(code) : `${code}/${subcode}`,
    // Meta's support asks for the trace.
    detail: trace === undefined ? detail : `${detail} (fbtrace_id ${trace})`,
    ...(kind === 'rate_limited' && minutes > 0 && { retryAfter: minutes * 60 }),
    // Meta may have carried out a call that it answers with a general failure.
    ...(kind === 'server_error' && { mayHaveHappened: true }),
  } satisfies { kind: ErrorKind } & PlatformErrorOptions
}

function kindOf(
  { code = 0, error_subcode: subcode = 0, is_transient: isTransient, message = '' }: GraphError,
  status: number,
) {
  if (/client secret|appsecret_proof|redirect_uri/i.test(message)) return 'app_misconfigured'
  const known = BY_SUBCODE[subcode] ?? BY_CODE[code]
  if (known !== undefined && known !== 'validation' && known !== 'unsupported') return known
  if (isTransient === true) return 'server_error'
  if (known !== undefined) return known
  if (code >= 200 && code <= 299) return 'scope_missing'
  // Limits of a business use case: 80001 pages, 80002 Instagram, and others.
  if (code >= 80_000 && code <= 80_014) return 'rate_limited'
  return kindOfStatus(status)
}

/** `{ error_type, code, error_message }` of `api.instagram.com/oauth/access_token` (Instagram Login, 2026-11). */
function tokenError({ code, error_message: message = '', error_type: type }: ErrorBody, { status }: PlatformReply) {
  const isOfApp = /client|secret|redirect|platform app/i.test(message)
  const kind: ErrorKind = isOfApp ? 'app_misconfigured' : /code/i.test(message) ? 'auth_expired' : kindOfStatus(status)
  return { kind, code: code === undefined ? type : `${type}/${code}`, detail: message }
}

/** Percentages of a limit that are used up. */
interface Usage {
  readonly call_count?: number
  readonly total_time?: number
  readonly total_cputime?: number
  readonly type?: string
  /** Minutes. */
  readonly estimated_time_to_regain_access?: number
}

/** The window of the limits, unless Meta says when it lets the app in again. */
const WINDOW_MS = 3_600_000

/** `X-App-Usage`, `X-Page-Usage` and `X-Business-Use-Case-Usage` (developers.facebook.com, Rate limits, 2026-11). */
function usageOf(headers: IncomingHttpHeaders, now: number): BudgetReport[] {
  const uses: { name: string; use: Usage | undefined }[] = [
    { name: 'app', use: parsed(headers['x-app-usage']) },
    { name: 'page', use: parsed(headers['x-page-usage']) },
    ...businessUsage(headers).map((use) => ({ name: `business ${use.type ?? ''}`.trim(), use })),
  ]
  return uses.flatMap(({ name, use }) => {
    if (use === undefined) return []
    const used = Math.max(use.call_count ?? 0, use.total_time ?? 0, use.total_cputime ?? 0)
    const minutes = use.estimated_time_to_regain_access ?? 0
    return [
      {
        name,
        limit: 100,
        remaining: Math.max(0, 100 - used),
        resetsAt: now + (minutes > 0 ? minutes * 60_000 : WINDOW_MS),
      },
    ]
  })
}

function businessUsage(headers: IncomingHttpHeaders): readonly Usage[] {
  const uses = parsed(headers['x-business-use-case-usage'])
  return Object.values((uses ?? {}) as Readonly<Record<string, readonly Usage[]>>).flat()
}

function parsed(header: string | readonly string[] | undefined): object | undefined {
  if (typeof header !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(header)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

interface Quota {
  readonly quota_total?: number
  /** Seconds. */
  readonly quota_duration?: number
}

/** The reply of `content_publishing_limit` and `threads_publishing_limit`. */
interface QuotaUsage {
  readonly quota_usage?: number
  readonly config?: Quota
  readonly reply_quota_usage?: number
  readonly reply_config?: Quota
}

/** What is left of the posts and replies of an account. The windows roll, so a part may come back earlier. */
function quotasOf(json: unknown, now: number): BudgetReport[] {
  const { data } = (json ?? {}) as { readonly data?: unknown }
  const [usage = {}] = (Array.isArray(data) ? data : []) as readonly QuotaUsage[]
  return [
    { name: 'posts', used: usage.quota_usage, quota: usage.config } as const,
    { name: 'replies', used: usage.reply_quota_usage, quota: usage.reply_config } as const,
  ].flatMap(({ name, quota, used }) => {
    if (used === undefined || quota?.quota_total === undefined) return []
    const resetsAt = now + (quota.quota_duration ?? 86_400) * 1_000
    const remaining = Math.max(0, quota.quota_total - used)
    return [{ name, limit: quota.quota_total, remaining, resetsAt, counts: name }]
  })
}
