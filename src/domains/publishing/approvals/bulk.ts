import type { Turn } from '../../../core/turn.ts'
import type { BulkChangeReplyData, BulkChanges } from '../writing/index.ts'
import type { ApprovalActions } from './actions.ts'
import type { BulkDecisionData } from './schemas.ts'

/** Submits and decides on many posts at once, in turns. */
export class BulkApprovals {
  readonly #actions: ApprovalActions
  readonly #changes: BulkChanges

  constructor(actions: ApprovalActions, changes: BulkChanges) {
    this.#actions = actions
    this.#changes = changes
  }

  submit(
    turn: Turn,
    ids: readonly string[],
    { dryRun = false }: { readonly dryRun?: boolean },
    userId: string,
  ): Promise<BulkChangeReplyData> {
    const submitted = async (id: string) => ({ post: await this.#actions.submit(turn, id, userId) })
    return this.#changes.run(turn, { action: 'submit', ids, userId, dryRun }, submitted)
  }

  decide(
    turn: Turn,
    ids: readonly string[],
    { comment, contentHashes = {}, decision, dryRun = false }: Omit<BulkDecisionData, 'workspaceId'>,
    userId: string,
  ): Promise<BulkChangeReplyData> {
    return this.#changes.run(turn, { action: 'decide', ids, userId, dryRun }, async (id) => {
      const contentHash = contentHashes[id]
      const input = {
        decision,
        ...(comment !== undefined && { comment }),
        ...(contentHash !== undefined && { contentHash }),
      }
      return { post: await this.#actions.decide(turn, id, { userId }, input) }
    })
  }
}
