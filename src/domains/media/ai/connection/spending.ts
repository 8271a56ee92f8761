import { firstIdOf } from '../../../../core/id.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { PlanService } from '../../../money/plans/index.ts'
import { aiSettingsOf } from '../../../workspace/workspaces/index.ts'
import { AiLimitReached } from '../errors.ts'
import type { AiSpendingData } from './schemas.ts'

/** The credits of its owner that a workspace uses, and the limit in its AI settings. */
export class AiSpending {
  readonly #plans: Pick<PlanService, 'creditMonthOf'>

  constructor(plans: Pick<PlanService, 'creditMonthOf'>) {
    this.#plans = plans
  }

  /** @param payerId the owner of the workspace. The period is the month of their subscription */
  async of(sql: Sql, workspaceId: string, payerId: string): Promise<AiSpendingData> {
    const { end, start } = await this.#plans.creditMonthOf(sql, payerId)
    const { creditLimitPerMonth: creditLimit } = await aiSettingsOf(sql, workspaceId)
    const found = await sql.row<{ used: number; reserved: number }>(
      `select coalesce(sum(credits_used), 0)::integer as used,
         coalesce(sum(credits_reserved) filter (where credits_used is null), 0)::integer as reserved
       from ai_jobs where workspace_id = $1 and id >= $2 and created_at >= $3`,
      // The index is on ids.
      [workspaceId, firstIdOf(start), new Date(start)],
    )
    const { reserved, used } = found ?? { reserved: 0, used: 0 }
    return {
      workspaceId,
      creditLimit,
      creditsUsed: used,
      creditsReserved: reserved,
      creditsAvailable: creditLimit === null ? null : Math.max(0, creditLimit - used - reserved),
      periodStart: new Date(start).toISOString(),
      periodEnd: new Date(end).toISOString(),
    }
  }

  /**
   * Checks that a job stays within the limit. Call it in a turn of the workspace, which requests one job at a time.
   * @throws AppError ai_limit_reached
   */
  async require(sql: Sql, workspaceId: string, payerId: string, amount: number): Promise<void> {
    const { creditLimit, creditsAvailable, creditsReserved, creditsUsed, periodEnd } = await this.of(
      sql,
      workspaceId,
      payerId,
    )
    if (creditsAvailable === null || amount <= creditsAvailable) return
    throw AiLimitReached({
      message: `This needs ${amount} credits. The workspace can use ${creditsAvailable} more of its ${creditLimit} until ${periodEnd}. Wait until then, or raise creditLimitPerMonth with PATCH /api/workspaces/{workspaceId}/ai-settings.`,
      details: { amount, available: creditsAvailable, creditLimit, creditsUsed, creditsReserved, periodEnd },
    })
  }
}
