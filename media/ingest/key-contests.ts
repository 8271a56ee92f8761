/** Limits how often encoders that are sending may replace each other. */
export interface ContestLimits {
  readonly maxTakeOvers: number
  readonly windowMs: number
  /** Replacing an encoder that has sent no media for this time does not count: it is reconnecting after a network failure. */
  readonly sendingMs: number
}

export const DEFAULT_CONTEST_LIMITS: ContestLimits = { maxTakeOvers: 3, windowMs: 60_000, sendingMs: 2_000 }

export interface TakeOverDecision {
  /** Whether the new connection may take over. */
  readonly allowed: boolean
  /** Recent take-overs, including this one if it is allowed. */
  readonly count: number
}

/**
 * Detects encoders that compete for one key. Each replaces the other and reconnects when it is replaced itself. After the
 * allowed number of take-overs, the encoder that is sending stays.
 */
export class KeyContests {
  readonly #limits: ContestLimits
  /** Times of the recent take-overs by path, monotonic milliseconds. */
  readonly #times = new Map<string, number[]>()

  constructor(limits: ContestLimits = DEFAULT_CONTEST_LIMITS) {
    this.#limits = limits
  }

  get sendingMs(): number {
    return this.#limits.sendingMs
  }

  /** Decides whether a new connection may replace an encoder that is sending. */
  requestTakeOver(path: string, now: number): TakeOverDecision {
    const recent = this.#recent(path, now)
    const allowed = recent.length < this.#limits.maxTakeOvers
    if (allowed) recent.push(now)
    this.#times.set(path, recent)
    return { allowed, count: recent.length }
  }

  /** Removes paths without recent take-overs. */
  prune(now: number): void {
    for (const path of this.#times.keys()) if (this.#recent(path, now).length === 0) this.#times.delete(path)
  }

  #recent(path: string, now: number): number[] {
    return (this.#times.get(path) ?? []).filter((time) => now - time < this.#limits.windowMs)
  }
}

/** The message to a refused encoder. */
export const KEY_CONTESTED = 'Another encoder is sending with this key. Stop one of them, or use the backup key.'
