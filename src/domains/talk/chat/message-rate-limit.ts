import type { Clock } from '../../../core/clock.ts'
import { RateLimited } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Room } from './rooms.ts'

const PER_SECOND = 5
const BURST = 10

/** Token buckets that one channel holds. Above this, full ones are dropped. */
const MOST_BUCKETS = 1_000

/**
 * Limits how fast one user may write in one channel: 5 messages a second, 10 at once. It counts where the turns of the
 * workspace run, so a second node does not double it.
 */
export class MessageRateLimit {
  readonly #clock: Clock
  readonly #enforced: boolean

  constructor(clock: Clock, enforced: boolean) {
    this.#clock = clock
    this.#enforced = enforced
  }

  /** Takes a token for a message, if the turn succeeds. @throws AppError rate_limited */
  take(turn: Turn, room: Room, userId: string): void {
    if (!this.#enforced) return
    const now = this.#clock.monotonic()
    const bucket = room.buckets.get(userId) ?? { tokens: BURST, at: now }
    const tokens = Math.min(BURST, bucket.tokens + ((now - bucket.at) / 1_000) * PER_SECOND)
    if (tokens < 1) {
      throw RateLimited({
        message: `At most ${PER_SECOND} messages a second in one channel, and ${BURST} at once.`,
        retryAfter: Math.max(1, Math.ceil((1 - tokens) / PER_SECOND)),
      })
    }
    turn.settled(() => {
      room.buckets.set(userId, { tokens: tokens - 1, at: now })
      if (room.buckets.size > MOST_BUCKETS) dropFull(room, now)
    })
  }
}

function dropFull(room: Room, now: number): void {
  for (const [userId, { at }] of room.buckets) {
    if (now - at > (BURST / PER_SECOND) * 1_000) room.buckets.delete(userId)
  }
}
