import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { planLabel, type Allowance, type PlanService } from '../../money/plans/index.ts'
import { findOwned, payerOf } from '../../workspace/workspaces/index.ts'
import { socialAccounts } from './tables.ts'

/** How many accounts a payer uses in all workspaces. Archived and removed accounts do not count. */
export class AccountSeats {
  readonly #plans: PlanService

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  async used(sql: Sql, payerId: string): Promise<number> {
    const workspaceId = anyOf(await findOwned(sql, payerId))
    return socialAccounts.count(sql, { workspaceId, removedAt: null, archivedAt: null })
  }

  /** How many accounts the plan still has room for. Locks the plan until the turn ends. @throws AppError not_found */
  async roomOf(turn: Turn): Promise<{ readonly allowance: Allowance; readonly used: number; readonly left: number }> {
    const payerId = await payerOf(turn.sql, turn.workspaceId)
    if (payerId === undefined) throw NotFound()
    const allowance = await this.#plans.lockLimitsOf(turn.sql, payerId)
    const used = await this.used(turn.sql, payerId)
    return { allowance, used, left: allowance.socialAccounts - used }
  }

  /**
   * Checks that the plan has room for more accounts. Locks the plan until the turn ends, so that turns of several
   * workspaces cannot exceed it together.
   * @throws AppError plan_limit_reached with the numbers
   */
  async requireRoom(turn: Turn, more: number): Promise<void> {
    const { allowance, left, used } = await this.roomOf(turn)
    if (more <= left) return
    throw this.#plans.limitError(
      allowance,
      'socialAccounts',
      used,
      `The ${planLabel(allowance)} allows ${allowance.socialAccounts} social accounts; ${used} are connected.`,
    )
  }
}
