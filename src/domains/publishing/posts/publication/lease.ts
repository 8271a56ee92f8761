import { SECOND } from '../../../../core/clock.ts'

/** How long an attempt owns a target without a sign of life. */
export interface LeaseTimes {
  readonly leaseMs: number
  /** So long before its end, nothing is sent to the platform any more. */
  readonly marginMs: number
}

export const LEASE: LeaseTimes = { leaseMs: 60 * SECOND, marginMs: 15 * SECOND }

/**
 * Scheduled targets are claimed so long before their time. From then on they can be cancelled, but not edited. It covers
 * a thousand targets with the same time, and their uploads that were not prepared begin.
 */
export const LEAD_MS = 5 * SECOND

/**
 * The job that claims targets runs so long before their time: half a second after they can be claimed, because it may
 * run on a node whose clock is behind that of the node which found it due.
 */
export const WAKE_MS = LEAD_MS - SECOND / 2

/**
 * So long before its time, an attempt stores that it is about to make the call that publishes. From then on it cannot be
 * cancelled. At the time itself only the call is left to do.
 */
export const INTENT_MS = SECOND / 2
