/** Take-overs of encoders that are sending, within a time, after which a newcomer is refused. */
export interface ContestLimits {
  readonly most: number
  readonly withinMs: number
  /** An encoder that has sent no media for this long is not being cut off: it comes again over a broken line. */
  readonly aliveMs: number
}

export const DEFAULT_CONTEST_LIMITS: ContestLimits = { most: 3, withinMs: 60_000, aliveMs: 2_000 }

export interface Contest {
  /** Whether the newcomer may take over. */
  readonly allowed: boolean
  /** How often encoders have cut each other off lately, this time included. */
  readonly count: number
}

/**
 * Finds encoders that fight over one key. Each takes over from the other, reconnects when it is cut off, and the
 * stream never comes to rest. Once that is clear the one on the air stays.
 */
export class KeyContests {
  readonly #limits: ContestLimits
  /** By path: when the last take-overs happened, monotonic milliseconds. */
  readonly #times = new Map<string, number[]>()

  constructor(limits: ContestLimits = DEFAULT_CONTEST_LIMITS) {
    this.#limits = limits
  }

  get aliveMs(): number {
    return this.#limits.aliveMs
  }

  /** A newcomer wants the place of an encoder that is sending. */
  challenge(path: string, now: number): Contest {
    const recent = this.#recent(path, now)
    const allowed = recent.length < this.#limits.most
    if (allowed) recent.push(now)
    this.#times.set(path, recent)
    return { allowed, count: recent.length }
  }

  /** Forgets what is over. */
  prune(now: number): void {
    for (const path of this.#times.keys()) if (this.#recent(path, now).length === 0) this.#times.delete(path)
  }

  #recent(path: string, now: number): number[] {
    return (this.#times.get(path) ?? []).filter((time) => now - time < this.#limits.withinMs)
  }
}

/** What the refused encoder is told. */
export const CONTESTED = 'Another encoder is sending with this key; stop one of them, or use the backup key.'
