import type { Clock } from '../core/clock.ts'
import { dropOldest } from '../tools/drop-oldest.ts'
import { RATE_LIMITS, type RateLimitName } from '../core/limits.ts'
import type { Logger } from '../core/log.ts'
import type { RateDecision, RateLimiter } from '../core/ports.ts'
import { TokenBucket } from '../tools/token-bucket.ts'
import type { RedisClient } from '../core/redis-client.ts'

/** Buckets that are kept. Above this, full ones are dropped. */
const MAX_BUCKETS = 100_000

/** Token buckets in memory: exact for one node. */
export class MemoryRateLimiter implements RateLimiter {
  readonly #clock: Clock
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  take(limit: RateLimitName, key: string): RateDecision {
    const now = this.#clock.monotonic()
    const name = `${limit}:${key}`
    let bucket = this.#buckets.get(name)
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#forget(now)
      const { burst, windowSeconds } = RATE_LIMITS[limit]
      bucket = new TokenBucket({ burst, perSecond: burst / windowSeconds }, now)
      this.#buckets.set(name, bucket)
    }
    const allowed = bucket.take(now)
    return decision(limit, allowed, bucket.level(now))
  }

  /** Drops full buckets, which are equivalent to missing ones, or the oldest bucket if none is full. */
  #forget(now: number): void {
    for (const [name, bucket] of this.#buckets) if (bucket.isFull(now)) this.#buckets.delete(name)
    dropOldest(this.#buckets, MAX_BUCKETS - 1)
  }
}

function decision(limit: RateLimitName, allowed: boolean, tokens: number): RateDecision {
  const { burst, windowSeconds } = RATE_LIMITS[limit]
  const perSecond = burst / windowSeconds
  return {
    allowed,
    limit: burst,
    windowSeconds,
    remaining: Math.floor(tokens),
    resetSeconds: Math.ceil((allowed ? burst - tokens : 1 - tokens) / perSecond),
  }
}

/**
 * The same bucket in Redis, by Redis's own clock. KEYS[1] bucket; ARGV burst, window ms. Returns allowed,
 * tokens × 1000. `PERSIST` needs no memory; after such a write Redis allows the others even when it is full (maxmemory).
 */
const TAKE = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local burst, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local old = redis.call('HMGET', KEYS[1], 'n', 'at')
local tokens = tonumber(old[1]) or burst
local at = tonumber(old[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * burst / window)
local allowed = 0
if tokens >= 1 then allowed = 1; tokens = tokens - 1 end
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'n', tostring(tokens), 'at', now)
redis.call('PEXPIRE', KEYS[1], window)
return {allowed, math.floor(tokens * 1000)}
`

/** Token buckets that several nodes share. While Redis is unavailable, each node counts on its own, so limits apply per node. */
export class RedisRateLimiter implements RateLimiter {
  readonly #redis: RedisClient
  readonly #local: MemoryRateLimiter
  readonly #log: Logger

  constructor(redis: RedisClient, clock: Clock, log: Logger) {
    this.#redis = redis
    this.#local = new MemoryRateLimiter(clock)
    this.#log = log
  }

  async take(limit: RateLimitName, key: string): Promise<RateDecision> {
    if (this.#redis.status !== 'ready') return this.#local.take(limit, key)
    const { burst, windowSeconds } = RATE_LIMITS[limit]
    try {
      const [allowed, thousandths] = (await this.#redis.eval(
        TAKE,
        1,
        `crier:{rl:${limit}:${key}}`,
        burst,
        windowSeconds * 1000,
      )) as [number, number]
      return decision(limit, allowed === 1, thousandths / 1000)
    } catch (error) {
      this.#log.warn({ error: (error as Error).message }, 'rate limits are counted on this node only')
      return this.#local.take(limit, key)
    }
  }
}

/** Used when the configuration turns rate limits off. */
export const unlimited = {
  take: (limit: RateLimitName): RateDecision => decision(limit, true, RATE_LIMITS[limit].burst),
}
