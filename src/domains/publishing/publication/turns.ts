import { systemTurn } from '../../../core/system-turn.ts'
import type { ClaimInput, Claims } from './claims/claims.ts'
import type { SettleInput } from './outcomes/outcomes.ts'

/** Takes targets that are due for attempts. */
export const claimTargets = systemTurn<ClaimInput, Claims>({
  name: 'posts.claim',
  run: ({ input, publication, turn }) => publication.claims.claim(turn, input),
})

/** Records the outcomes of attempts. */
export const settleTargets = systemTurn<readonly SettleInput[]>({
  name: 'posts.settle',
  run: ({ input, publication, turn }) => publication.outcomes.settle(turn, input),
})
