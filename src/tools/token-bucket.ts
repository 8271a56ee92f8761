/** Capacity and refill rate of a bucket, in tokens. */
interface BucketPolicy {
  readonly burst: number
  readonly perSecond: number
}

/** A token bucket that starts full. Times are monotonic milliseconds. */
export class TokenBucket {
  readonly #policy: BucketPolicy
  #tokens: number
  #at: number

  constructor(policy: BucketPolicy, now: number) {
    this.#policy = policy
    this.#tokens = policy.burst
    this.#at = now
  }

  /** Tokens in the bucket. May be a fraction. */
  level(now: number): number {
    const { burst, perSecond } = this.#policy
    return Math.min(burst, this.#tokens + ((now - this.#at) / 1_000) * perSecond)
  }

  /** Takes one token. @returns false when there is none */
  take(now: number): boolean {
    this.#tokens = this.level(now)
    this.#at = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Whether the bucket is full, like a new one. */
  isFull(now: number): boolean {
    return this.level(now) >= this.#policy.burst
  }
}
