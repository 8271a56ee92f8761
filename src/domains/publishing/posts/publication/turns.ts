import { systemTurn } from '../../../../core/system-turn.ts'
import type { ClaimInput, Claims } from './claims.ts'
import type { SettleInput } from './outcomes.ts'

/** Takes targets that are due for attempts. */
export const claimTargets = systemTurn<ClaimInput, Claims>({
  name: 'posts.claim',
  run: ({ input, posts, turn }) => posts.claims.claim(turn, input),
})

/** Records the outcomes of attempts. */
export const settleTargets = systemTurn<readonly SettleInput[]>({
  name: 'posts.settle',
  run: ({ input, posts, turn }) => posts.outcomes.settle(turn, input),
})
