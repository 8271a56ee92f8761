import { systemTurn } from '../../../../core/system-turn.ts'
import type { PreparationClaim, PreparationClaimInput, PreparationSettleInput } from './claims.ts'

/** Takes a target that is due soon for a preparation. */
export const claimPreparation = systemTurn<PreparationClaimInput, PreparationClaim>({
  name: 'posts.claimPreparation',
  run: ({ input, publication, turn }) => publication.preparationClaims.claim(turn, input),
})

/** Records the outcome of a preparation. */
export const settlePreparation = systemTurn<PreparationSettleInput>({
  name: 'posts.settlePreparation',
  run: ({ input, publication, turn }) => publication.preparationClaims.settle(turn, input),
})
