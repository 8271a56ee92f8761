import type { ReplyReader } from '../http/platform-http.ts'
import { kindOfStatus } from '../http/platform-http.ts'

/**
 * Errors of Mastodon: `{ "error": "…", "error_description"?: "…" }` with the status. Budgets: `X-RateLimit-*`, with the
 * reset as an ISO 8601 time (docs.joinmastodon.org/api/rate-limits, 2026-11).
 */
export const reader: ReplyReader = {
  errorOf: ({ json, status }) => {
    if (status < 400) return undefined
    const { error, error_description: description } = (json ?? {}) as { error?: unknown; error_description?: unknown }
    const code = typeof error === 'string' ? error : undefined
    const detail = typeof description === 'string' ? description : code
    return { kind: kindOf(status, code ?? ''), code, detail }
  },
  budgetsOf: ({ headers }, now) => {
    const remaining = Number(headers['x-ratelimit-remaining'])
    const resetsAt = Date.parse(String(headers['x-ratelimit-reset'] ?? ''))
    if (!Number.isFinite(remaining) || headers['x-ratelimit-remaining'] === undefined) return []
    const limit = Number(headers['x-ratelimit-limit'])
    return [
      {
        name: 'api',
        remaining,
        ...(Number.isFinite(limit) && { limit }),
        resetsAt: Number.isFinite(resetsAt) ? resetsAt : now + 300_000,
      },
    ]
  },
}

function kindOf(status: number, error: string) {
  if (error === 'invalid_client') return 'app_misconfigured'
  if (error === 'invalid_grant') return 'auth_expired'
  if (status === 403) {
    if (/outside the authorized scopes/i.test(error)) return 'scope_missing'
    return 'account_restricted'
  }
  if (status === 422 && /media|file|processing|image|video/i.test(error)) return 'media_processing'
  return kindOfStatus(status)
}
