import { systemTurn } from '../../../../core/system-turn.ts'
import type { Claim, ClaimInput, SettleInput } from './desk.ts'

/** Takes a target for an attempt. */
export const claimTarget = systemTurn<ClaimInput, Claim>({
  name: 'posts.claim',
  run: ({ input, posts, turn }) => posts.desk.claim(turn, input),
})

/** Records the outcome of an attempt. */
export const settleTarget = systemTurn<SettleInput>({
  name: 'posts.settle',
  run: ({ input, posts, turn }) => posts.desk.settle(turn, input),
})

/** Adds a job for a target whose job was lost, or whose publisher is gone. */
export const resumeTarget = systemTurn<{ readonly targetId: string }>({
  name: 'posts.resume',
  run: ({ input, posts, turn }) => posts.desk.resume(turn, input.targetId),
})
