import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { PlanService } from '../../../money/plans/index.ts'
import { findOwned } from '../../../workspace/workspaces/index.ts'
import type { LimitStatusData } from './schemas.ts'
import type { AccountSeats } from '../seats.ts'
import { socialAccounts } from '../tables.ts'

/** How many accounts are offered for archiving. */
const MAX_OFFERS = 100

/** What a workspace uses of a limit that the plan sets for each workspace. */
export interface WorkspaceUse {
  readonly kind: 'openPosts' | 'recurringPosts'
  readonly workspaceId: string
  readonly used: number
}

type UseOfWorkspaces = (sql: Sql, workspaceIds: readonly string[]) => Promise<readonly WorkspaceUse[]>

/** What exceeds a user's plan after a downgrade. */
export class AccountLimits {
  #use: UseOfWorkspaces = () => Promise.resolve([])
  readonly #sql: Sql
  readonly #plans: PlanService
  readonly #seats: AccountSeats

  constructor(sql: Sql, plans: PlanService, seats: AccountSeats) {
    this.#sql = sql
    this.#plans = plans
    this.#seats = seats
  }

  /** Registers publishing, which depends on accounts. */
  registerUse(use: UseOfWorkspaces): void {
    this.#use = use
  }

  async statusOf(userId: string): Promise<LimitStatusData> {
    const [allowance, owned] = await Promise.all([this.#plans.limitsOf(userId), findOwned(this.#sql, userId)])
    const [used, ofWorkspaces] = await Promise.all([this.#seats.used(this.#sql, userId), this.#use(this.#sql, owned)])
    const over = Math.max(0, used - allowance.socialAccounts)
    const offers = over === 0 ? [] : await this.#offers(owned)
    const quotas = [
      {
        kind: 'socialAccounts' as const,
        workspaceId: null,
        limit: allowance.socialAccounts,
        used,
        over,
        archivable: offers,
      },
      {
        kind: 'workspaces' as const,
        workspaceId: null,
        limit: allowance.workspaces,
        used: owned.length,
        over: Math.max(0, owned.length - allowance.workspaces),
        archivable: [],
      },
      ...ofWorkspaces.map((use) => ({
        ...use,
        limit: allowance[use.kind],
        over: Math.max(0, use.used - allowance[use.kind]),
        archivable: [],
      })),
    ]
    return { plan: allowance.plan, isOver: quotas.some((quota) => quota.over > 0), quotas }
  }

  /** Those of the accounts that are in workspaces of the user, and not removed. */
  async owned(userId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const workspaceId = anyOf(await findOwned(this.#sql, userId))
    const rows = await socialAccounts.find(
      this.#sql,
      { workspaceId, id: anyOf(ids), removedAt: null },
      { columns: ['id'] },
    )
    return new Set(rows.map(({ id }) => id))
  }

  /** Accounts to archive: accounts that do not work first, then the most recently connected ones. */
  async #offers(workspaceIds: readonly string[]) {
    const rows = await socialAccounts.find(
      this.#sql,
      { workspaceId: anyOf(workspaceIds), removedAt: null, archivedAt: null },
      {
        columns: ['id', 'workspaceId', 'platform', 'name', 'status', 'brokenReason'],
        orderBy: ['brokenReason asc', 'id desc'],
        limit: MAX_OFFERS,
      },
    )
    return rows.map(({ id, name, platform, status, workspaceId }) => ({
      accountId: id,
      workspaceId,
      platform,
      name,
      status,
    }))
  }
}
