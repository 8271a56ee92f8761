import { PostNotPossible } from './errors.ts'
import { moved, type TargetAction } from './state.ts'
import type { TargetRow } from './tables.ts'

/** Actions on targets. They return new rows, which `savePost` writes. */

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
