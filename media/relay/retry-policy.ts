import { Backoff, type BackoffLimits } from './backoff.ts'
import type { Fault } from './fault.ts'

export interface RetryLimits {
  readonly backoff: BackoffLimits
  /** Refusals of a key that has never worked until the destination needs attention. */
  readonly maxRejections: number
  /** Connections in a row that the server closed at `publish`, until the hint says that the key or application may be wrong. */
  readonly maxEarlyCloses: number
  /** Delay after a refusal that may be temporary, multiplied by the number of refusals so far. */
  readonly staleSessionMs: number
  /** Maximum delay after such a refusal. */
  readonly maxStaleSessionMs: number
}

export interface RetryDecision {
  /** Milliseconds until the next attempt. Null when a user must act first. */
  readonly waitMs: number | null
  /** What the user should check. */
  readonly hint?: string
}

const MAY_BE_TEMPORARY =
  'The server may still keep the previous session, or another encoder may use the key. Crier retries while the stream is live.'
const WORKED_BEFORE =
  'The key has worked before: the server may still keep the previous session, or the key was changed there. Crier retries while the stream is live.'
const WRONG_KEY = 'Check the stream key and the application in the URL: one of them is probably wrong.'

/**
 * Decides when to retry a destination after a fault. A refusal that may be temporary is always retried, because platforms
 * refuse a valid key while they believe that a broken connection still publishes.
 */
export class RetryPolicy {
  readonly #limits: RetryLimits
  readonly #backoff: Backoff
  #hasWorked: boolean
  #rejections = 0
  #earlyCloses = 0

  /** @param hasWorked whether the server has accepted media with this key before, also in an earlier process */
  constructor(limits: RetryLimits, hasWorked: boolean) {
    this.#limits = limits
    this.#backoff = new Backoff(limits.backoff)
    this.#hasWorked = hasWorked
  }

  get hasWorked(): boolean {
    return this.#hasWorked
  }

  /** The server accepts media with this key. */
  noteWorked(): void {
    this.#hasWorked = true
    this.#rejections = 0
    this.#earlyCloses = 0
  }

  /** The connection was stable. The back-off starts again from the beginning. */
  noteStable(): void {
    this.#backoff.reset()
  }

  /** A user requested another attempt. */
  reset(): void {
    this.#rejections = 0
    this.#earlyCloses = 0
    this.#backoff.reset()
  }

  /** Decides what to do after a fault. */
  after({ code }: Fault): RetryDecision {
    this.#earlyCloses = code === 'closed_on_publish' ? this.#earlyCloses + 1 : 0
    if (code === 'closed_on_publish') return { waitMs: this.#backoff.next(), ...this.#earlyCloseHint() }
    if (code === 'rejected' || code === 'key_in_use' || code === 'address_refused') return this.#afterRefusal(code)
    return { waitMs: this.#backoff.next() }
  }

  #afterRefusal(code: 'rejected' | 'key_in_use' | 'address_refused'): RetryDecision {
    const { maxRejections, maxStaleSessionMs, staleSessionMs } = this.#limits
    this.#rejections += 1
    const backoffMs = this.#backoff.next()
    const isTemporary = code === 'key_in_use' || (code === 'rejected' && this.#hasWorked)
    if (isTemporary) {
      const staleMs = Math.min(maxStaleSessionMs, staleSessionMs * this.#rejections)
      return { waitMs: Math.max(backoffMs, staleMs), hint: this.#hasWorked ? WORKED_BEFORE : MAY_BE_TEMPORARY }
    }
    const hint = code === 'rejected' ? { hint: WRONG_KEY } : {}
    return { waitMs: this.#rejections >= maxRejections ? null : backoffMs, ...hint }
  }

  #earlyCloseHint(): { readonly hint?: string } {
    if (this.#earlyCloses < this.#limits.maxEarlyCloses) return {}
    const count = `The server has closed the connection right after publish ${this.#earlyCloses} times in a row.`
    return { hint: `${count} ${this.#hasWorked ? WORKED_BEFORE : WRONG_KEY}` }
  }
}
