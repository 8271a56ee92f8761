import type { LimitClass } from './operation.ts'

/** A token bucket: at most `burst` tokens, refilled at `burst` per `windowSeconds`. */
export interface RatePolicy {
  readonly burst: number
  readonly windowSeconds: number
  /** The owner of the bucket: the caller (an anonymous caller's address), or always the address. */
  readonly per: 'caller' | 'address'
}

/** Everything that is rate limited: requests by class, and refused credentials. */
export type RateLimitName = Exclude<LimitClass, 'none'> | 'credential'

/**
 * Rate limits by class. `auth` is tight and per address because it protects passwords and codes; `mail` protects the
 * inboxes of other people. `credential` counts refused tokens and API keys and never delays valid ones. `page` is for
 * pages and for requests refused before an operation was reached; `bodiless` is for replies without a body. Each node
 * counts these two on its own.
 */
export const RATE_LIMITS: Readonly<Record<RateLimitName, RatePolicy>> = {
  read: { burst: 1200, windowSeconds: 60, per: 'caller' },
  write: { burst: 300, windowSeconds: 60, per: 'caller' },
  auth: { burst: 100, windowSeconds: 60, per: 'address' },
  mail: { burst: 30, windowSeconds: 60, per: 'address' },
  credential: { burst: 60, windowSeconds: 60, per: 'address' },
  page: { burst: 300, windowSeconds: 60, per: 'address' },
  bodiless: { burst: 3_000, windowSeconds: 60, per: 'address' },
}

/** The class of an operation that does not set one. */
export function limitClassOf(op: { limit?: LimitClass; method: string }): LimitClass {
  return op.limit ?? (op.method === 'GET' ? 'read' : 'write')
}

/** The limit of a JSON body, in bytes, when the operation does not set one. */
export const DEFAULT_BODY_LIMIT = 100_000
