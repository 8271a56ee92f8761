/** How much a bucket holds, and how fast it fills. */
interface BucketPolicy {
  readonly burst: number
  readonly perSecond: number
}

/** A token bucket, full at first. Times are milliseconds of a monotonic clock. */
export class TokenBucket {
  readonly #policy: BucketPolicy
  #tokens: number
  #at: number

  constructor(policy: BucketPolicy, now: number) {
    this.#policy = policy
    this.#tokens = policy.burst
    this.#at = now
  }

  /** Tokens that are there. Not a whole number. */
  level(now: number): number {
    const { burst, perSecond } = this.#policy
    return Math.min(burst, this.#tokens + ((now - this.#at) / 1_000) * perSecond)
  }

  /** Takes a token. @returns whether there was one */
  take(now: number): boolean {
    this.#tokens = this.level(now)
    this.#at = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Whether the bucket says the same as a new one. */
  isFull(now: number): boolean {
    return this.level(now) >= this.#policy.burst
  }
}
