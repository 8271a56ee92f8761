import { NotFound } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'

interface SeatRow {
  owner_id: string
  members: number
  invited: number
}

/**
 * The seats of a workspace: its members and its open invitations, held against the plan of whoever pays. A turn comes
 * after another, so what is counted here cannot change before the commit.
 */
export class Seats {
  readonly #plans: PlanService

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  /** Room for one more invitation. @throws AppError plan_limit_reached, not_found */
  async requireForInvitation(turn: Turn, now: Date): Promise<void> {
    const row = await count(turn, now)
    await this.#require(turn, row, row.members + row.invited)
  }

  /** Room for one more member; the invitation that they accept holds the seat. @throws AppError as above */
  async requireForMember(turn: Turn, now: Date): Promise<void> {
    const row = await count(turn, now)
    await this.#require(turn, row, row.members)
  }

  async #require(turn: Turn, row: SeatRow, used: number): Promise<void> {
    const allowance = await this.#plans.lockLimitsOf(turn.sql, row.owner_id)
    if (used < allowance.members) return
    const message = `The ${allowance.plan} plan allows ${allowance.members} members of a workspace; there are ${row.members}, and ${row.invited} are invited.`
    throw this.#plans.limitError(allowance, 'members', used, message)
  }
}

async function count(turn: Turn, now: Date): Promise<SeatRow> {
  const row = await turn.sql.row<SeatRow>(
    `select w.owner_id,
       (select count(*) from workspace_members where workspace_id = w.id) as members,
       (select count(*) from invitations
         where workspace_id = w.id and status = 'open' and expires_at > $2) as invited
     from workspaces w where w.id = $1 and w.deleted_at is null`,
    [turn.workspaceId, now],
  )
  if (row === undefined) throw NotFound()
  return row
}
