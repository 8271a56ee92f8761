import type { Clock } from '../../src/core/clock.ts'
import type { FakeReply } from '../fake.ts'
import { problem } from './problems.ts'

/** Calls in the current window, by user and route. */
export type FakeWindows = Record<string, { startedAt: number; used: number }>

const WINDOW_MS = 900_000
/** Calls of a user in 15 minutes (docs.x.com/x-api/fundamentals/rate-limits, 2026-10). */
const LIMITS: readonly (readonly [method: string, path: RegExp, limit: number])[] = [
  ['GET', /^\/2\/users\/me$/, 75],
  ['GET', /^\/2\/users\/\d+\/tweets$/, 900],
  ['GET', /^\/2\/tweets\/\d+$/, 900],
  ['POST', /^\/2\/tweets$/, 100],
  ['DELETE', /^\/2\/tweets\/\d+$/, 50],
  ['POST', /^\/2\/media\/upload\/initialize$/, 1_875],
  ['POST', /^\/2\/media\/upload\/\d+\/append$/, 1_875],
  ['POST', /^\/2\/media\/upload\/\d+\/finalize$/, 1_875],
  ['GET', /^\/2\/media\/upload$/, 1_000],
  ['POST', /^\/2\/media\/metadata$/, 500],
]

/** Counts a call, and adds the headers of the limit. A call over the limit is refused with 429. */
export function limited(
  windows: FakeWindows,
  clock: Clock,
  { account, method, path }: { account: string; method: string; path: string },
  answer: () => FakeReply,
): FakeReply {
  const index = LIMITS.findIndex(([verb, route]) => verb === method && route.test(path))
  const limit = LIMITS[index]?.[2]
  if (limit === undefined) return answer()
  const key = `${account} ${index}`
  const known = windows[key]
  const now = clock.now()
  const window = known !== undefined && now - known.startedAt < WINDOW_MS ? known : { startedAt: now, used: 0 }
  windows[key] = window
  const isOver = window.used >= limit
  if (!isOver) window.used += 1
  const reply = isOver ? problem(429, 'Too Many Requests', 'Too Many Requests') : answer()
  return {
    ...reply,
    headers: {
      ...reply.headers,
      'x-rate-limit-limit': String(limit),
      'x-rate-limit-remaining': String(limit - window.used),
      'x-rate-limit-reset': String(Math.ceil((window.startedAt + WINDOW_MS) / 1_000)),
    },
  }
}
