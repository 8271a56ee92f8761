import { systemTurn } from '../../../core/system-turn.ts'

/** Ends a stage whose deadline has passed. */
export const endStageTurn = systemTurn<{ readonly postId: string; readonly opening: number }>({
  name: 'approvals.end_stage',
  run: ({ approvals, input, turn }) => approvals.desk.endStage(turn, input),
})

/** Sends the mails about stages that have opened. */
export const announceTurn = systemTurn<{ readonly since: string }>({
  name: 'approvals.announce',
  run: ({ approvals, input, turn }) => approvals.desk.announce(turn, input.since),
})

/** Counts again who can decide on the posts in review. */
export const recheckTurn = systemTurn<object>({
  name: 'approvals.recheck',
  run: ({ approvals, turn }) => approvals.desk.recheck(turn),
})
