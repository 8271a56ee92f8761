import type { Clock } from '../../../core/clock.ts'
import { RateLimited } from '../../../core/errors.ts'
import { TokenBucket } from '../../../tools/token-bucket.ts'
import type { Turn } from '../../../core/turn.ts'
import type { CachedChannel } from './channel-cache.ts'

const POLICY = { burst: 10, perSecond: 5 }

/** Token buckets that one channel holds. Above this, full ones are dropped. */
const MAX_BUCKETS = 1_000

/**
 * Limits how fast one user may write in one channel: 5 messages a second, 10 at once. The count is kept where the turns
 * of the workspace run, so a second node does not double the limit.
 */
export class MessageRateLimit {
  readonly #clock: Clock
  readonly #enforced: boolean

  constructor(clock: Clock, enforced: boolean) {
    this.#clock = clock
    this.#enforced = enforced
  }

  /** Takes a token for a message, if the turn succeeds. @throws AppError rate_limited */
  take(turn: Turn, cached: CachedChannel, userId: string): void {
    if (!this.#enforced) return
    const now = this.#clock.monotonic()
    const bucket = cached.buckets.get(userId) ?? new TokenBucket(POLICY, now)
    if (bucket.level(now) < 1) {
      throw RateLimited({
        message: `At most ${POLICY.perSecond} messages a second in one channel, and ${POLICY.burst} at once.`,
        // The next token comes within a fifth of a second, and whole seconds are the unit.
        retryAfter: 1,
      })
    }
    turn.settled(() => {
      bucket.take(now)
      cached.buckets.set(userId, bucket)
      if (cached.buckets.size > MAX_BUCKETS) dropFull(cached, now)
    })
  }
}

function dropFull(cached: CachedChannel, now: number): void {
  for (const [userId, bucket] of cached.buckets) if (bucket.isFull(now)) cached.buckets.delete(userId)
}
