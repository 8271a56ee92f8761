import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { increment } from '../../../db/increment.ts'
import { planLabel } from './next-step.ts'
import type { PlanService } from './service.ts'
import { planUses } from './tables.ts'

/** Limits of a calendar month (UTC) that are counted here, with the noun for error messages. */
const COUNTED = { rendersPerMonth: 'renderings a month' } as const

export type MonthlyLimit = keyof typeof COUNTED

/** Counts what users use up in a month, and refuses more than their plan allows. */
export class MonthlyUses {
  readonly #clock: Clock
  readonly #plans: Pick<PlanService, 'limitError' | 'lockLimitsOf' | 'payerOf'>

  constructor(clock: Clock, plans: Pick<PlanService, 'limitError' | 'lockLimitsOf' | 'payerOf'>) {
    this.#clock = clock
    this.#plans = plans
  }

  /**
   * Counts one more use of a workspace against the plan of its payer. What is requested counts, also if it fails.
   * @param sql the transaction of the request
   * @throws AppError plan_limit_reached
   */
  async take(sql: Sql, workspaceId: string, name: MonthlyLimit): Promise<void> {
    const userId = await this.#plans.payerOf.get()(workspaceId)
    if (userId === undefined) throw NotFound()
    const allowance = await this.#plans.lockLimitsOf(sql, userId)
    const used = await this.usedBy(sql, userId, name)
    if (used >= allowance[name]) {
      const message = `The ${planLabel(allowance)} allows ${allowance[name]} ${COUNTED[name]}; ${used} were requested.`
      throw this.#plans.limitError(allowance, name, used, message)
    }
    const row = { userId, name, month: this.#month() }
    if ((await planUses.update(sql, row, { used: increment(1) })) === 0) {
      await planUses.insert(sql, { ...row, used: 1 })
    }
  }

  /** What a user has used in this month. */
  async usedBy(sql: Sql, userId: string, name: MonthlyLimit): Promise<number> {
    const row = await planUses.first(sql, { userId, name, month: this.#month() })
    return row?.used ?? 0
  }

  /** The first day of the month, as `2026-11-01`. */
  #month(): string {
    return `${new Date(this.#clock.now()).toISOString().slice(0, 7)}-01`
  }
}
