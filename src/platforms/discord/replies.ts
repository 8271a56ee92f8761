import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type ReplyReader } from '../http/platform-http.ts'

interface Body {
  readonly code?: number
  readonly message?: string
  readonly retry_after?: number
  readonly global?: boolean
  /** Errors by field, in a tree. */
  readonly errors?: unknown
}

/**
 * Errors of Discord: `{ code, message, errors }`, with `retry_after` in seconds and fractions. Budgets: `X-RateLimit-*` by
 * bucket (docs.discord.com/developers/topics/opcodes-and-status-codes and /rate-limits, 2026-11).
 */
export const reader: ReplyReader = {
  errorOf: ({ headers, json, status }) => {
    if (status < 400) return undefined
    const { code, errors, message, retry_after: wait } = (typeof json === 'object' && json !== null ? json : {}) as Body
    const isGlobal = headers['x-ratelimit-global'] === 'true'
    return {
      kind: (code === undefined ? undefined : CODES[code]) ?? (status === 403 ? 'scope_missing' : kindOfStatus(status)),
      code: code === undefined || code === 0 ? (isGlobal ? 'global' : undefined) : String(code),
      detail: [message, ...messagesOf(errors)].filter(Boolean).join(' ') || undefined,
      ...(typeof wait === 'number' && { retryAfter: Math.ceil(wait) }),
    }
  },
  budgetsOf: ({ headers }, now) => {
    const [limit, remaining, seconds] = ['limit', 'remaining', 'reset-after'].map((name) =>
      Number(headers[`x-ratelimit-${name}`] ?? Number.NaN),
    )
    const bucket = headers['x-ratelimit-bucket']
    if (typeof bucket !== 'string' || !Number.isFinite(remaining) || !Number.isFinite(seconds)) return []
    const resetsAt = now + Math.ceil((seconds ?? 0) * 1_000)
    return [{ name: bucket, remaining: remaining ?? 0, resetsAt, ...(Number.isFinite(limit) && { limit: limit ?? 0 }) }]
  },
}

const CODES: Readonly<Record<number, ErrorKind>> = {
  // Unknown channel, guild or member: it was deleted, or the bot was removed.
  10003: 'account_restricted',
  10004: 'account_restricted',
  10007: 'account_restricted',
  10008: 'unsupported',
  10015: 'auth_expired',
  20009: 'policy_rejected',
  20016: 'rate_limited',
  20022: 'rate_limited',
  20024: 'account_restricted',
  20028: 'rate_limited',
  20029: 'rate_limited',
  30046: 'quota_exhausted',
  40001: 'auth_expired',
  40002: 'account_restricted',
  40005: 'validation',
  40062: 'rate_limited',
  40333: 'app_misconfigured',
  50001: 'scope_missing',
  50005: 'unsupported',
  50006: 'validation',
  50008: 'unsupported',
  50013: 'scope_missing',
  50014: 'auth_expired',
  50027: 'auth_expired',
  50035: 'validation',
  50083: 'unsupported',
  50278: 'policy_rejected',
  160_005: 'unsupported',
  200_000: 'policy_rejected',
  // A forum without a thread, a thread and a new one, and a new thread where there is no forum.
  220_001: 'validation',
  220_002: 'validation',
  520_002: 'unsupported',
  520_003: 'unsupported',
  200_001: 'policy_rejected',
  220_003: 'unsupported',
  240_000: 'policy_rejected',
}

/** The messages in a tree of errors: `{ content: { _errors: [{ code, message }] } }`. */
function messagesOf(errors: unknown, path = ''): string[] {
  if (typeof errors !== 'object' || errors === null) return []
  return Object.entries(errors).flatMap(([name, value]) =>
    name === '_errors' && Array.isArray(value)
      ? (value as { message?: string }[]).map(({ message = '' }) => `${path}: ${message}`)
      : messagesOf(value, path === '' ? name : `${path}.${name}`),
  )
}
