import { firstIdOf } from '../../../../tools/id.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import type { PlanService } from '../../../money/plans/index.ts'
import { aiSettingsOf } from '../../../workspace/workspaces/index.ts'
import { AiLimitReached } from '../errors.ts'
import { aiJobs } from '../tables.ts'
import type { AiSpendingData } from './schemas.ts'

/** The credits of jobs since a time. The index is on ids, so the first id of that time is given too. */
const creditsSince = query({ aiJobs }, (db, $: { workspaceId: string; firstId: string; start: string }) =>
  db
    .selectFrom('aiJobs')
    .select((e) => {
      const reserved = e.fn.sum('creditsReserved').filterWhere('creditsUsed', 'is', null)
      return [
        e.cast<number>(e.fn.coalesce(e.fn.sum('creditsUsed'), e.lit(0)), 'integer').as('used'),
        e.cast<number>(e.fn.coalesce(reserved, e.lit(0)), 'integer').as('reserved'),
      ]
    })
    .where('workspaceId', '=', $.workspaceId)
    .where('id', '>=', $.firstId)
    .where('createdAt', '>=', $.start),
)

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
    const periodStart = new Date(start).toISOString()
    const found = await creditsSince.row(sql, { workspaceId, firstId: firstIdOf(start), start: periodStart })
    const { reserved, used } = found ?? { reserved: 0, used: 0 }
    return {
      workspaceId,
      creditLimit,
      creditsUsed: used,
      creditsReserved: reserved,
      creditsAvailable: creditLimit === null ? null : Math.max(0, creditLimit - used - reserved),
      periodStart,
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
