import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'

/** A target that starts this late is part of a backlog: this server, or its platform, was not available. */
const BACKLOG_MS = 30 * SECOND
/** The distance between two late targets of an account, and of a platform. */
const ACCOUNT_MS = SECOND
const PLATFORM_MS = 100
/** Accounts and platforms that are remembered. */
const MOST = 10_000

interface Late {
  readonly accountId: string
  readonly platform: string
  /** Milliseconds since the epoch. */
  readonly dueAt: number
}

/**
 * Spreads what has become late, so that an outage does not end in a burst. Targets that are on time start at once. A
 * place is given in the order of the claims, which is that of the times.
 */
export class PublicationPace {
  readonly #clock: Clock
  /** When the last place of an account or platform is. */
  readonly #last = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** When a target can start: now, or later. Its place is kept free then. */
  placeOf({ accountId, dueAt, platform }: Late): number {
    const now = this.#clock.now()
    if (now - dueAt < BACKLOG_MS) return now
    const at = Math.max(now, this.#after(accountId, ACCOUNT_MS), this.#after(platform, PLATFORM_MS))
    // A clock that was set back must not keep targets waiting.
    if (at > now + 60 * MINUTE) this.#last.clear()
    this.#keep(accountId, at)
    this.#keep(platform, at)
    return at
  }

  #after(key: string, distanceMs: number): number {
    const last = this.#last.get(key)
    return last === undefined ? 0 : last + distanceMs
  }

  #keep(key: string, at: number): void {
    this.#last.delete(key)
    this.#last.set(key, at)
    const oldest = this.#last.keys().next().value
    if (this.#last.size > MOST && oldest !== undefined) this.#last.delete(oldest)
  }
}
