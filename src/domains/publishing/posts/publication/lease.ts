import { SECOND } from '../../../../core/clock.ts'

/** How long an attempt owns a target without extending its lease. */
export interface LeaseTimes {
  readonly leaseMs: number
  /** Nothing is sent to the platform in this last part of the lease. */
  readonly marginMs: number
}

export const LEASE: LeaseTimes = { leaseMs: 60 * SECOND, marginMs: 15 * SECOND }

/**
 * How long before its time a scheduled target is claimed. From then on it can be cancelled, but not edited. This is
 * enough time to claim a thousand targets with the same time and to begin the uploads that were not prepared.
 */
export const LEAD_MS = 5 * SECOND

/**
 * How long before its time the job that claims a target runs. It runs half a second after the target can be claimed,
 * because the clock of its node may be behind the clock of the node that found the target due.
 */
export const WAKE_MS = LEAD_MS - SECOND / 2

/**
 * How long before its time an attempt stores that it is about to make the publishing call. From then on it cannot be
 * cancelled. At its time, only the call is left to do.
 */
export const INTENT_MS = SECOND / 2
