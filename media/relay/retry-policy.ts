import { Backoff, type BackoffLimits } from './backoff.ts'
import type { Fault } from './fault.ts'

export interface RetryLimits {
  readonly backoff: BackoffLimits
  /** Refusals of a key that has never worked, before a person has to look. */
  readonly maxRejections: number
  /** Connections that the server closed at `publish`, in a row, before the key or the application is suspected. */
  readonly maxEarlyCloses: number
  /** After a refusal that may be temporary, the next attempt waits this long times the refusals so far. */
  readonly staleSessionMs: number
  /** Longest wait after such a refusal. */
  readonly maxStaleSessionMs: number
}

export interface RetryDecision {
  /** Milliseconds until the next attempt; null when a person has to look first. */
  readonly waitMs: number | null
  /** What a person may want to check. */
  readonly hint?: string
}

const MAY_BE_TEMPORARY =
  'The server may still hold the session before this one, or another encoder may use the key. Crier tries again for as long as the stream is live.'
const WORKED_BEFORE =
  'The key has worked before: the server may still hold the earlier session, or the key was changed there. Crier tries again for as long as the stream is live.'
const WRONG_KEY = 'Check the stream key and the application in the URL: one of them is probably wrong.'

/**
 * Decides when a destination is tried again after a fault. A refusal is final only when nothing says that it may be
 * temporary: platforms refuse a good key for as long as they think that a broken connection still publishes.
 */
export class RetryPolicy {
  readonly #limits: RetryLimits
  readonly #backoff: Backoff
  #hasWorked: boolean
  #rejections = 0
  #earlyCloses = 0

  /** @param hasWorked whether the server has taken media with this key before, in whatever process */
  constructor(limits: RetryLimits, hasWorked: boolean) {
    this.#limits = limits
    this.#backoff = new Backoff(limits.backoff)
    this.#hasWorked = hasWorked
  }

  get hasWorked(): boolean {
    return this.#hasWorked
  }

  /** The server takes media with this key. */
  worked(): void {
    this.#hasWorked = true
    this.#rejections = 0
    this.#earlyCloses = 0
  }

  /** The connection has lasted: the next fault is a new one. */
  steady(): void {
    this.#backoff.reset()
  }

  /** A person asked for another attempt. */
  reset(): void {
    this.#rejections = 0
    this.#earlyCloses = 0
    this.#backoff.reset()
  }

  /** What follows a fault. */
  after({ code }: Fault): RetryDecision {
    this.#earlyCloses = code === 'closed_on_publish' ? this.#earlyCloses + 1 : 0
    if (code === 'closed_on_publish') return { waitMs: this.#backoff.next(), ...this.#suspicion() }
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

  #suspicion(): { readonly hint?: string } {
    if (this.#earlyCloses < this.#limits.maxEarlyCloses) return {}
    const count = `The server has closed the connection right after publish ${this.#earlyCloses} times in a row.`
    return { hint: `${count} ${this.#hasWorked ? WORKED_BEFORE : WRONG_KEY}` }
  }
}
