import type { LimitClass } from './operation.ts'

/** A token bucket: `burst` tokens at most, filled at `burst` per `windowSeconds`. */
export interface RatePolicy {
  readonly burst: number
  readonly windowSeconds: number
  /** Whose bucket: the caller's (the address of an anonymous one), or always the address. */
  readonly per: 'caller' | 'address'
}

/**
 * Rate limits by class. `auth` is tight and per address because it guards passwords and codes; `mail` guards other
 * people's inboxes.
 */
export const RATE_LIMITS: Readonly<Record<Exclude<LimitClass, 'none'>, RatePolicy>> = {
  read: { burst: 1200, windowSeconds: 60, per: 'caller' },
  write: { burst: 300, windowSeconds: 60, per: 'caller' },
  auth: { burst: 100, windowSeconds: 60, per: 'address' },
  mail: { burst: 30, windowSeconds: 60, per: 'address' },
}

/** The class of an operation that names none. */
export function limitClassOf(op: { limit?: LimitClass; method: string }): LimitClass {
  return op.limit ?? (op.method === 'GET' ? 'read' : 'write')
}

/** Bytes of a JSON body when the operation says nothing else. */
export const DEFAULT_BODY_LIMIT = 100_000
