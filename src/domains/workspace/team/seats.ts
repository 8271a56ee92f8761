import { NotFound } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { greaterThan } from '../../../db/condition.ts'
import { planLabel, type PlanService } from '../../money/plans/index.ts'
import { countMembers, payerOf } from '../workspaces/index.ts'
import { invitations } from './tables.ts'

/**
 * The limit on members of a workspace, from the plan of the owner who pays. Members and open invitations count. Turns of
 * a workspace run one after the other, so the counts cannot change before the commit.
 */
export class Seats {
  readonly #plans: PlanService

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  /** Checks the limit for one more invitation. @throws AppError plan_limit_reached, not_found */
  async requireForInvitation(turn: Turn, now: Date): Promise<void> {
    const { members, invited } = await count(turn, now)
    await this.#require(turn, members, invited, members + invited)
  }

  /**
   * Checks the limit for one more member. Open invitations do not count: the new member's own one is among them.
   * @throws AppError plan_limit_reached, not_found
   */
  async requireForMember(turn: Turn, now: Date): Promise<void> {
    const { members, invited } = await count(turn, now)
    await this.#require(turn, members, invited, members)
  }

  async #require(turn: Turn, members: number, invited: number, used: number): Promise<void> {
    const payer = await payerOf(turn.sql, turn.workspaceId)
    if (payer === undefined) throw NotFound()
    const allowance = await this.#plans.lockLimitsOf(turn.sql, payer)
    if (used < allowance.members) return
    const message = `The ${planLabel(allowance)} allows ${allowance.members} members of a workspace; there are ${members}, and ${invited} are invited.`
    throw this.#plans.limitError(allowance, 'members', used, message)
  }
}

async function count({ sql, workspaceId }: Turn, now: Date): Promise<{ members: number; invited: number }> {
  const members = await countMembers(sql, workspaceId)
  const invited = await invitations.count(sql, { workspaceId, status: 'open', expiresAt: greaterThan(now) })
  return { members, invited }
}
