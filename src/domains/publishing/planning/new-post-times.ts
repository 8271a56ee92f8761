import type { BudgetPlanner } from './budgets/planner.ts'
import type { Resources, WantedTarget } from './new-target.ts'
import { overrideOf, type PlanningScope, type NewPostInput, type PostBody } from '../posts/index.ts'
import type { SlotFinder } from './slots/finder.ts'
import { labelOf } from '../calendar/index.ts'
import { plannedTime, requireToCome, type PlannedTime } from './time.ts'
import { requireTargets } from './wanted-time.ts'

/** What decides the time of a new post. */
export interface Timing {
  /** Now, ISO 8601. */
  readonly at: string
  readonly body: PostBody
  readonly resources: Resources
  /** Its accounts, with the times that are their own. */
  readonly untimed: readonly WantedTarget[]
  readonly zone: string
  readonly workspaceZone: string | undefined
  /** The user whose slots are used while the workspace has no queue. */
  readonly userId: string | undefined
}

/** Decides the times of new posts. */
export class NewPostTimes {
  readonly #room: BudgetPlanner
  readonly #slots: SlotFinder

  constructor(room: BudgetPlanner, slots: SlotFinder) {
    this.#room = room
    this.#slots = slots
  }

  /**
   * The time of a new post, with room in the budgets of its accounts.
   * @throws AppError validation_failed, queue_full, budget_exceeded
   */
  async timeFor(
    scope: PlanningScope,
    input: NewPostInput,
    { at, body, resources, untimed, userId, workspaceZone, zone }: Timing,
  ): Promise<PlannedTime | null> {
    const label = labelOf(input.queue)
    for (const [index, { ownTime, time: own }] of untimed.entries()) {
      if (ownTime) requireToCome(own, at, INSTEAD, `/body/targets/${index}/override`)
    }
    if (input.queue !== undefined) {
      const queued = untimed.filter(({ ownTime }) => !ownTime)
      requireTargets(queued)
      const needs = this.#room.needs({ body, resources, targets: queued })
      const hasRoom = (instant: number) => this.#room.hasRoom(scope, needs, instant)
      const accountIds = queued.map(({ accountId }) => accountId)
      return this.#slots.next(scope, { accountIds, label, hasRoom, userId }, workspaceZone)
    }
    const time = input.publishNow === true ? plannedTime(at, zone) : timeOf(input.scheduledFor, zone)
    requireToCome(time, at, INSTEAD)
    const targets = untimed.map((target) => (target.ownTime ? target : { ...target, time }))
    const planned = { body, resources, targets, label }
    if (time !== null && input.onFull === 'move') return this.#room.moved(scope, planned, time)
    await this.#room.require(scope, planned)
    return time
  }
}

/** What a new post has instead of a time that has passed. */
const INSTEAD = '`publishNow: true` in place of `scheduledFor`'

/** The accounts of a request, each with its own time or that of the post. @throws AppError validation_failed */
export function wantedTargets(
  targets: NonNullable<NewPostInput['targets']>,
  time: PlannedTime | null,
  zone: string,
): WantedTarget[] {
  return targets.map(({ accountId, override }, index) => {
    const path = `/body/targets/${index}/override`
    const own = timeOf(override?.scheduledFor, override?.timezone ?? zone, path)
    return { accountId, override: overrideOf(override), time: own ?? time, ownTime: own !== null }
  })
}

/** The time of a request, if it has one. @throws AppError validation_failed */
export function timeOf(scheduledFor: string | null | undefined, zone: string, path?: string): PlannedTime | null {
  return scheduledFor == null ? null : plannedTime(scheduledFor, zone, path)
}
