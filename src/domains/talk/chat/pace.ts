import type { Clock } from '../../../core/clock.ts'
import { RateLimited } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Room } from './rooms.ts'

const PER_SECOND = 5
const BURST = 10

/** People whose pace a channel keeps in mind; past it those who are rested are forgotten. */
const MOST_BUCKETS = 1_000

/**
 * How fast one person may write in one channel: 5 messages a second, 10 at once. Counted where the workspace's turns
 * run, so that no second node doubles it.
 */
export class Pace {
  readonly #clock: Clock
  readonly #enforced: boolean

  constructor(clock: Clock, enforced: boolean) {
    this.#clock = clock
    this.#enforced = enforced
  }

  /** Counts a message, if the turn succeeds. @throws AppError rate_limited */
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
      if (room.buckets.size > MOST_BUCKETS) forgetRested(room, now)
    })
  }
}

function forgetRested(room: Room, now: number): void {
  for (const [userId, { at }] of room.buckets) {
    if (now - at > (BURST / PER_SECOND) * 1_000) room.buckets.delete(userId)
  }
}
