import { systemTurn } from '../../../core/system-turn.ts'
import type { Origin } from '../../../core/workspace-logs.ts'
import type { DecisionInputData } from './schemas.ts'

/** Ends a stage whose deadline has passed. */
export const endStageTurn = systemTurn<{ readonly postId: string; readonly opening: number }>({
  name: 'approvals.end_stage',
  run: ({ approvals, input, turn }) => approvals.actions.endStage(turn, input),
})

/** Sends the mails about stages that have opened. */
export const announceTurn = systemTurn<{ readonly since: string }>({
  name: 'approvals.announce',
  run: ({ approvals, input, turn }) => approvals.actions.announce(turn, input.since),
})

/** Counts again who can decide on the posts in review. */
export const recheckTurn = systemTurn<object>({
  name: 'approvals.recheck',
  run: ({ approvals, turn }) => approvals.actions.recheck(turn),
})

export interface GuestDecision {
  readonly guestId: string
  readonly postId: string
  readonly input: DecisionInputData
  readonly origin: Origin
}

/** Records the decision of a guest, with an audit entry. */
export const decideAsGuest = systemTurn<GuestDecision>({
  name: 'approvals.decide_as_guest',
  run: ({ approvals, input, turn }) => approvals.actions.decideAsGuest(turn, input),
})
