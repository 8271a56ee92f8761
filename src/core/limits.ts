import type { LimitClass } from './operation.ts'

/** A token bucket: `burst` tokens at most, filled at `burst` per `windowSeconds`. */
export interface RatePolicy {
  readonly burst: number
  readonly windowSeconds: number
  /** Whose bucket: the caller's (the address of an anonymous one), or always the address. */
  readonly per: 'caller' | 'address'
}

/** Everything that is limited: requests by class, and credentials that were refused. */
export type RateLimitName = Exclude<LimitClass, 'none'> | 'credential'

/**
 * Rate limits by class. `auth` is tight and per address because it guards passwords and codes; `mail` guards other
 * people's inboxes. `credential` counts refused tokens and API keys; a good one is never held back by it.
 * `page` is for pages and for refusals before any operation, `bodiless` for replies without a body;
 * both are counted by each node for itself.
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

/** The class of an operation that names none. */
export function limitClassOf(op: { limit?: LimitClass; method: string }): LimitClass {
  return op.limit ?? (op.method === 'GET' ? 'read' : 'write')
}

/** Bytes of a JSON body when the operation says nothing else. */
export const DEFAULT_BODY_LIMIT = 100_000
