import { MINUTE } from '../../../core/clock.ts'
import type { Turn } from '../../../core/turn.ts'
import { act, type TargetRow } from '../posts/index.ts'
import { publishAt } from './wake/wake.ts'
import type { PlannedTime } from './time.ts'

/** Times of targets. They return new rows, and add the jobs that follow. `savePost` writes them. */

/** The times of a target: its own, or those of the post. */
export function timesOf(time: PlannedTime | null) {
  return {
    localTime: time?.localTime ?? null,
    timeZone: time?.timeZone ?? null,
    scheduledAt: time?.scheduledAt ?? null,
    adjustment: time?.adjustment ?? null,
  }
}

/** When it is too late to start. One minute is always allowed, because no clock is exact. */
export function startBy(time: Pick<PlannedTime, 'scheduledAt'>, lateMinutes: number): string {
  return new Date(Date.parse(time.scheduledAt) + Math.max(1, lateMinutes) * MINUTE).toISOString()
}

export interface Planned {
  readonly time: PlannedTime
  readonly lateMinutes: number
  /** Now, ISO 8601. */
  readonly at: string
}

/** Gives a target a time and no job, because its approval decides what happens then. */
export function timed(_turn: Turn, target: TargetRow, { at, lateMinutes, time }: Planned): TargetRow {
  return {
    ...target,
    ...timesOf(time),
    startBy: startBy(time, lateMinutes),
    plan: target.plan + 1,
    attemptCount: 0,
    nextAttemptAt: null,
    problem: null,
    updatedAt: at,
  }
}

/**
 * Schedules a target: at its time, a job publishes what is due then.
 * @throws AppError post_state_conflict
 */
export function scheduled(turn: Turn, target: TargetRow, planned: Planned): TargetRow {
  const next = act(timed(turn, target, planned), 'schedule')
  publishAt(turn, Date.parse(planned.time.scheduledAt))
  return next
}
