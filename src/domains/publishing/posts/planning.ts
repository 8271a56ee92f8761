import { MINUTE } from '../../../core/clock.ts'
import type { Turn } from '../../../core/turn.ts'
import { PostNotPossible } from './errors.ts'
import { publishAt } from './publication/wake.ts'
import { moved, type TargetAction } from './state.ts'
import type { TargetRow } from './tables.ts'
import type { PlannedTime } from './time.ts'

/** Changes of targets. They return new rows, and add the jobs that follow. `savePost` writes them. */

/**
 * A target after an action.
 * @throws AppError post_state_conflict
 */
export function act(target: TargetRow, action: TargetAction, changes: Partial<TargetRow> = {}): TargetRow {
  const status = moved(target.status, action)
  if (status === undefined) throw notPossible(action, target.status, [target])
  return { ...target, status, ...changes }
}

/** Whether an action is possible for a target. */
export function canAct({ status }: Pick<TargetRow, 'status'>, action: TargetAction): boolean {
  return moved(status, action) !== undefined
}

const WORDS: Readonly<Record<TargetAction | 'settle', string>> = {
  settle: 'settled',
  submit: 'submitted for approval',
  withdraw: 'withdrawn',
  approve: 'approved',
  schedule: 'scheduled',
  unschedule: 'taken from the schedule',
  claim: 'published',
  publish: 'published',
  publish_part: 'published',
  fail: 'ended',
  miss: 'ended',
  lose: 'ended',
  retry: 'retried',
  cancel: 'cancelled',
  edit: 'edited',
  delete: 'deleted',
}

/** The error for an action that the state of a post does not allow. */
export function notPossible(
  action: TargetAction | 'settle',
  status: string,
  targets: readonly Pick<TargetRow, 'accountId' | 'status'>[],
  why = '',
) {
  return PostNotPossible({
    message: `The post is ${status.replaceAll('_', ' ')} and cannot be ${WORDS[action]}.${why === '' ? '' : ` ${why}`}`,
    details: { status, targets: targets.map((target) => ({ accountId: target.accountId, status: target.status })) },
  })
}

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
