import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type ReplyReader } from '../http/platform-http.ts'

const TRIAL =
  'Pinterest gives this server’s app trial access, which cannot publish. Ask Pinterest for standard access, or set PINTEREST_API_URL=https://api-sandbox.pinterest.com to try it out.'

/**
 * Codes of the API (examples in Pinterest’s OpenAPI description 5.23.0, 2026-03; 283 as users report it). 29 refuses any
 * access, so only the text tells that the app has trial access.
 */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  '2': 'auth_expired',
  '3': 'scope_missing',
  '7': 'validation',
  '8': 'rate_limited',
  '29': 'account_restricted',
  '40': 'validation',
  '50': 'unsupported',
  '283': 'auth_expired',
}

/** Kinds by the text, where the codes are too general. */
const TEXTS: readonly (readonly [RegExp, ErrorKind])[] = [
  [/app (?:is|was|has been) deactivated|consumer type/i, 'app_misconfigured'],
  [/user (?:is|was|has been) (?:deactivated|suspended)|account (?:is|was|has been) suspended/i, 'account_restricted'],
  [/missing.*scope|required scope|does not have.*scope/i, 'scope_missing'],
  [/\bspam\b|blocked/i, 'policy_rejected'],
  [/\b(?:fetch|reach|download|process)\b.*\b(?:image|video|media)\b/i, 'media_processing'],
  [
    /(?:image|video|media)\b.*\b(?:fetch|reach|download|broken|corrupt|process|too (?:small|large))/i,
    'media_processing',
  ],
]

/**
 * Errors of Pinterest: `{ "code": 3, "message": "…" }`. Budgets: `x-ratelimit-limit: 100, 100;w=1;name="…", …` with the
 * closest limit first, `x-ratelimit-remaining`, and `x-ratelimit-reset` in seconds.
 */
export const reader: ReplyReader = {
  errorOf: ({ headers, json, status }) => {
    if (status < 400) return undefined
    const { code: number, message } = (json ?? {}) as { code?: number | string; message?: string }
    const code = number?.toString()
    if (/trial access/i.test(message ?? '')) {
      return { kind: 'app_misconfigured', code, detail: `${TRIAL} (${message})` }
    }
    const byText =
      status < 500 && status !== 429 ? TEXTS.find(([pattern]) => pattern.test(message ?? ''))?.[1] : undefined
    const reset = Number(headers['x-ratelimit-reset'])
    return {
      kind: byText ?? KINDS[code ?? ''] ?? kindOfStatus(status),
      code,
      detail: message,
      ...(status === 429 &&
        headers['retry-after'] === undefined &&
        headers['x-ratelimit-reset'] !== undefined &&
        Number.isFinite(reset) && { retryAfter: reset }),
    }
  },
  budgetsOf: ({ headers }, now) => {
    const limits = String(headers['x-ratelimit-limit'] ?? '')
    const remaining = Number(headers['x-ratelimit-remaining'])
    const reset = Number(headers['x-ratelimit-reset'])
    const limit = Number.parseInt(limits, 10)
    if (headers['x-ratelimit-remaining'] === undefined || !Number.isFinite(remaining) || !Number.isFinite(reset))
      return []
    const closest = limits.split(',').find((one) => one.includes(';') && Number.parseInt(one, 10) === limit)
    const name = /name="([^"]+)"/.exec(closest ?? '')?.[1] ?? 'api'
    return [{ name, remaining, ...(Number.isFinite(limit) && { limit }), resetsAt: now + reset * 1_000 }]
  },
}
