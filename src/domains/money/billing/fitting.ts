import type { Jobs } from '../../../core/job.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Database } from '../../../db/database.ts'
import type { PlanName } from '../../identity/users/index.ts'
import { archiveForPlan, returnForPlan } from '../../social/accounts/index.ts'
import { findOwned } from '../../workspace/workspaces/index.ts'
import type { PlanService, SubscriptionRow } from '../plans/index.ts'
import { fitAccounts } from './jobs.ts'
import { isLarger } from './planned-change.ts'

/** The new state of a subscription. */
interface Became {
  readonly plan: PlanName
  readonly extraAccounts: number
}

/**
 * Fits the social accounts of a user to a plan that has changed. A smaller plan archives the accounts that the user has
 * not chosen to keep. If the user has chosen nothing, all stay, and there cannot be more. A larger plan takes from the
 * archive what a smaller one has put there.
 */
export class AccountFitting {
  readonly #database: Database
  readonly #jobs: Jobs
  readonly #turns: TurnRunner
  readonly #plans: PlanService

  constructor(database: Database, jobs: Jobs, turns: TurnRunner, plans: PlanService) {
    this.#database = database
    this.#jobs = jobs
    this.#turns = turns
    this.#plans = plans
  }

  /**
   * Adds the job that fits the accounts, in the transaction of the change. Accounts change later, in turns of their
   * workspaces.
   */
  async after(tx: Transaction, before: SubscriptionRow, { extraAccounts, plan }: Became): Promise<void> {
    const { keepAccountIds, nextPlan, userId } = before
    const isDowngrade = nextPlan === plan && isLarger(before.plan, plan)
    if (isDowngrade && keepAccountIds !== null) await this.#order(tx, { userId, plan, kept: [...keepAccountIds] })
    const isMore = isLarger(plan, before.plan) || (plan === before.plan && extraAccounts > before.extraAccounts)
    if (isMore) await this.#order(tx, { userId, plan, kept: null })
  }

  /** Runs the job of `after`, unless the plan has changed in the other direction since. Harmless to repeat. */
  async fit(userId: string, plan: PlanName, kept: readonly string[] | null): Promise<void> {
    const now = await this.#plans.subscription(this.#database, userId)
    if (kept !== null && isLarger(now.plan, plan)) return
    for (const workspaceId of await findOwned(this.#database, userId)) {
      await (kept === null
        ? this.#turns.system(workspaceId, returnForPlan, {})
        : this.#turns.system(workspaceId, archiveForPlan, { kept }))
    }
  }

  #order(sql: Sql, data: { readonly userId: string; readonly plan: PlanName; readonly kept: string[] | null }) {
    return this.#jobs.add(sql, fitAccounts, data)
  }
}
