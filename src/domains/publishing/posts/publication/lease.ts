import { SECOND } from '../../../../core/clock.ts'

/** How long an attempt owns a target without a sign of life. */
export interface LeaseTimes {
  readonly leaseMs: number
  /** So long before its end, nothing is sent to the platform any more. */
  readonly marginMs: number
}

export const LEASE: LeaseTimes = { leaseMs: 60 * SECOND, marginMs: 15 * SECOND }
