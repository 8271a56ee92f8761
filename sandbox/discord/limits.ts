import { createHash } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import { json, type FakeReply } from '../fake.ts'

/** Calls in the current window, by bucket. */
export type FakeBuckets = Record<string, { startedAt: number; used: number }>

/** Calls and milliseconds of a window by route. Discord publishes no numbers: these are the reported ones. */
const ROUTES: readonly (readonly [method: string, path: RegExp, calls: number, ms: number])[] = [
  ['POST', /^(\/channels\/\d+)\/messages$/, 5, 5_000],
  ['GET', /^(\/channels\/\d+)\/messages$/, 5, 5_000],
  ['POST', /^(\/webhooks\/\d+\/[\w-]+)$/, 5, 2_000],
  ['PATCH', /^(\/(?:channels|webhooks)\/.+)\/messages\/\d+$/, 5, 5_000],
  ['DELETE', /^(\/(?:channels|webhooks)\/.+)\/messages\/\d+$/, 5, 1_000],
]
const GLOBAL_CALLS = 50
const GLOBAL_MS = 1_000

interface Call {
  readonly method: string
  readonly path: string
  readonly token: string | undefined
}

/** Counts a call, and adds the headers of its bucket. A call over a limit is refused with 429. */
export function limited(buckets: FakeBuckets, clock: Clock, call: Call, answer: () => FakeReply): FakeReply {
  const { method, path, token = '' } = call
  const all = take(buckets, clock, `global ${token}`, GLOBAL_CALLS, GLOBAL_MS)
  // Webhooks do not count for the limit of a bot.
  if (token !== '' && all.isOver) return refusal(all.waitMs, true, { 'X-RateLimit-Global': 'true' })
  const route = ROUTES.findIndex(([verb, pattern]) => verb === method && pattern.test(path))
  const found = ROUTES[route]
  if (found === undefined) return answer()
  const [, pattern, calls, ms] = found
  const name = createHash('md5')
    .update(`${route} ${pattern.exec(path)?.[1]}`)
    .digest('hex')
  const { isOver, left, waitMs } = take(buckets, clock, name, calls, ms)
  const headers = {
    'X-RateLimit-Bucket': name,
    'X-RateLimit-Limit': String(calls),
    'X-RateLimit-Remaining': String(left),
    'X-RateLimit-Reset': ((clock.now() + waitMs) / 1_000).toFixed(3),
    'X-RateLimit-Reset-After': (waitMs / 1_000).toFixed(3),
  }
  if (isOver) return refusal(waitMs, false, { ...headers, 'X-RateLimit-Scope': 'user' })
  const reply = answer()
  return { ...reply, headers: { ...reply.headers, ...headers } }
}

function take(buckets: FakeBuckets, clock: Clock, name: string, calls: number, ms: number) {
  const now = clock.now()
  const known = buckets[name]
  const bucket = known !== undefined && now - known.startedAt < ms ? known : { startedAt: now, used: 0 }
  buckets[name] = bucket
  const isOver = bucket.used >= calls
  if (!isOver) bucket.used += 1
  return { isOver, left: calls - bucket.used, waitMs: bucket.startedAt + ms - now }
}

function refusal(waitMs: number, isGlobal: boolean, headers: Record<string, string>): FakeReply {
  const body = { message: 'You are being rate limited.', retry_after: waitMs / 1_000, global: isGlobal }
  return json(429, body, { ...headers, 'Retry-After': String(Math.ceil(waitMs / 1_000)) })
}
