import { HOUR, SECOND, type Clock } from '../../../../core/clock.ts'

/** A target that starts this late is part of a backlog: this server, or its platform, was not available. */
const BACKLOG_MS = 30 * SECOND
/** Minimum interval between two late targets of an account, and of a platform. */
const ACCOUNT_MS = SECOND
const PLATFORM_MS = 100
/** The latest start of a post is a day after its time. */
const MAX_MS = 25 * HOUR
/** Accounts and platforms that are remembered. */
const MAX = 10_000

interface Late {
  readonly accountId: string
  readonly platform: string
  /** Milliseconds since the epoch. */
  readonly dueAt: number
}

/**
 * Spreads late targets over time, so that an outage is not followed by a burst. Targets that are on time start at once.
 * Start times are assigned in the order of the claims, which is the order of the targets' times.
 */
export class PublicationPace {
  readonly #clock: Clock
  readonly #perHour: (platform: string) => number | undefined
  /** The last assigned start time of each account and platform. */
  readonly #last = new Map<string, number>()

  /** @param perHour how many posts a platform takes from an account in an hour, if it has such a limit */
  constructor(clock: Clock, perHour: (platform: string) => number | undefined) {
    this.#clock = clock
    this.#perHour = perHour
  }

  /** When a target can start: now, or at a later time, which is reserved for it. */
  placeOf({ accountId, dueAt, platform }: Late): number {
    const now = this.#clock.now()
    if (now - dueAt < BACKLOG_MS) return now
    const start = Math.max(now, this.#after(platform, PLATFORM_MS))
    const allowed = this.#allowed(accountId, platform)
    const at = Math.max(start, this.#after(accountId, ACCOUNT_MS), allowed.at)
    // A clock that was set back must not keep targets waiting.
    if (at > now + MAX_MS) this.#last.clear()
    this.#keep(accountId, at)
    this.#keep(`hour ${accountId}`, Math.max(at, allowed.until) + allowed.each)
    // A longer wait of one account must not delay the others.
    this.#keep(platform, start)
    return at
  }

  /**
   * When the hourly limit of a platform allows another late post of an account. Half of the limit can start at once, and
   * the other half spread over the hour, so that no hour has more than the limit.
   */
  #allowed(accountId: string, platform: string) {
    const each = (2 * HOUR) / (this.#perHour(platform) ?? Infinity)
    const until = this.#last.get(`hour ${accountId}`) ?? 0
    return { each, until, at: until - HOUR + each }
  }

  #after(key: string, distanceMs: number): number {
    const last = this.#last.get(key)
    return last === undefined ? 0 : last + distanceMs
  }

  #keep(key: string, at: number): void {
    this.#last.delete(key)
    this.#last.set(key, at)
    const oldest = this.#last.keys().next().value
    if (this.#last.size > MAX && oldest !== undefined) this.#last.delete(oldest)
  }
}
