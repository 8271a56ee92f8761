import { SECOND } from '../../../../core/clock.ts'
import type { Turn } from '../../../../core/turn.ts'
import { WAKE_MS } from './lease.ts'
import { publishDue } from './jobs.ts'

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
