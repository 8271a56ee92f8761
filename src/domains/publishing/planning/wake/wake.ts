import { SECOND } from '../../../../core/clock.ts'
import type { Turn } from '../../../../core/turn.ts'
import { publishDue } from './jobs.ts'

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
 * Has a publisher claim what is scheduled for a time, ahead of it. Targets with the same time share a job.
 * @param at milliseconds since the epoch
 */
export function publishAt(turn: Turn, at: number): void {
  // Times within a second share its job, which must not be too early for the last of them.
  wake(turn, Math.ceil(at / SECOND) * SECOND - WAKE_MS)
}

/**
 * Has a publisher look at a target again: for another attempt, or for the next check.
 * @param at milliseconds since the epoch
 */
export function tryAgainAt(turn: Turn, at: number): void {
  wake(turn, at)
}

function wake(turn: Turn, at: number): void {
  turn.job(publishDue, {}, { runAt: new Date(at), key: `${turn.workspaceId} ${at}` })
}
