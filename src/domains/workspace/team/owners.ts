import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { changePayer, countOwned, ownerIds, payerOf } from '../workspaces/index.ts'
import { LastOwner } from './errors.ts'

/** Ensures that a workspace always has an owner, and that it counts against the plan of one of its owners. */
export class Ownership {
  readonly #plans: PlanService

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  /**
   * To be called before an owner loses the role. If the workspace counts against their plan, it then counts against the
   * plan of the owner who makes the change, or, if owners remove themselves, of the owner who joined first.
   * @throws AppError last_owner; plan_limit_reached when the plan of the next payer allows no further workspace
   */
  async release(turn: Turn, userId: string, actorId: string, now: Date): Promise<void> {
    const others = (await ownerIds(turn.sql, turn.workspaceId)).filter((id) => id !== userId)
    const next = others.includes(actorId) ? actorId : others[0]
    if (next === undefined) throw LastOwner()
    if ((await payerOf(turn.sql, turn.workspaceId)) === userId) await this.#transfer(turn, userId, next, now)
  }

  /**
   * To be called before an owner disappears. The workspace then counts against the plan of the owner who joined first, even
   * if that plan allows no further workspace.
   * @returns false if there is no other owner
   */
  async passOn(turn: Turn, userId: string, now: Date): Promise<boolean> {
    const next = (await ownerIds(turn.sql, turn.workspaceId)).find((id) => id !== userId)
    if (next === undefined) return false
    if ((await payerOf(turn.sql, turn.workspaceId)) === userId) await this.#change(turn, userId, next, now)
    return true
  }

  async #transfer(turn: Turn, from: string, to: string, now: Date): Promise<void> {
    const allowance = await this.#plans.lockLimitsOf(turn.sql, to)
    const used = await countOwned(turn.sql, to)
    if (used >= allowance.workspaces) {
      const message = `Another owner would pay for the workspace, but their plan ${allowance.plan} allows ${allowance.workspaces} workspaces, and they own ${used}.`
      throw this.#plans.limitError(allowance, 'workspaces', used, message)
    }
    await this.#change(turn, from, to, now)
  }

  async #change(turn: Turn, from: string, to: string, now: Date): Promise<void> {
    turn.afterCommit(() => this.#plans.payerChanged(turn.workspaceId))
    turn.audit({ kind: 'workspace', id: turn.workspaceId, details: { ownerId: { from, to } } })
    await changePayer(turn, to, now)
  }
}
