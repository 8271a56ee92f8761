import { SECOND } from '../../../../core/clock.ts'

/** How long an attempt owns a target without extending its lease. */
export interface LeaseTimes {
  readonly leaseMs: number
  /** Nothing is sent to the platform in this last part of the lease. */
  readonly marginMs: number
}

export const LEASE: LeaseTimes = { leaseMs: 60 * SECOND, marginMs: 15 * SECOND }

/**
 * How long before its time an attempt stores that it is about to make the publishing call. From then on it cannot be
 * cancelled. At its time, only the call is left to do.
 */
export const INTENT_MS = SECOND / 2
