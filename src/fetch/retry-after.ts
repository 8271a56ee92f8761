import type { IncomingHttpHeaders } from 'node:http'

/** Seconds of a Retry-After header (RFC 9110, 10.2.3): a number, or a date. */
export function retryAfterOf(headers: IncomingHttpHeaders, now: number): number | undefined {
  const text = headers['retry-after']
  if (text === undefined) return undefined
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1_000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined
}
