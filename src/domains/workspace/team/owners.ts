import { NotFound } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'
import { workspaceUpdated } from '../workspaces/events.ts'
import { stateOf, WORKSPACE_COLUMNS, type WorkspaceRow } from '../workspaces/views.ts'
import { LastOwner } from './errors.ts'

/** Sees to it that a workspace keeps an owner, and that somebody pays for it. */
export class Ownership {
  readonly #plans: PlanService

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  /**
   * To be called before an owner stops being one. Who pays is always an owner: when the payer goes, whoever made them
   * go takes over; when they go by themselves, the owner who has been there longest.
   * @throws AppError last_owner; plan_limit_reached when the next payer's plan has no room for another workspace
   */
  async release(turn: Turn, userId: string, actorId: string, now: Date): Promise<void> {
    const others = await turn.sql.rows<{ user_id: string }>(
      `select user_id from workspace_members where workspace_id = $1 and role = 'owner' and user_id <> $2
       order by user_id <> $3, joined_at, user_id`,
      [turn.workspaceId, userId, actorId],
    )
    const [next] = others
    if (next === undefined) throw LastOwner()
    const payer = await turn.sql.row<{ owner_id: string }>('select owner_id from workspaces where id = $1', [
      turn.workspaceId,
    ])
    if (payer?.owner_id === userId) await this.#transfer(turn, userId, next.user_id, now)
  }

  async #transfer(turn: Turn, from: string, to: string, now: Date): Promise<void> {
    const allowance = await this.#plans.lockLimitsOf(turn.sql, to)
    const owned = await turn.sql.row<{ count: number }>(
      'select count(*) as count from workspaces where owner_id = $1 and deleted_at is null',
      [to],
    )
    const used = owned?.count ?? 0
    if (used >= allowance.workspaces) {
      const message = `Another owner would pay for the workspace, but their plan ${allowance.plan} allows ${allowance.workspaces} workspaces, and they own ${used}.`
      throw this.#plans.limitError(allowance, 'workspaces', used, message)
    }
    const row = await turn.sql.row<WorkspaceRow>(
      `update workspaces w set owner_id = $2, updated_at = $3, version = version + 1
       where id = $1 returning ${WORKSPACE_COLUMNS}`,
      [turn.workspaceId, to, now],
    )
    if (row === undefined) throw NotFound()
    turn.afterCommit(() => this.#plans.payerChanged(turn.workspaceId))
    turn.audit({ kind: 'workspace', id: row.id, details: { ownerId: { from, to } } })
    turn.emit(workspaceUpdated, stateOf(row))
  }
}
