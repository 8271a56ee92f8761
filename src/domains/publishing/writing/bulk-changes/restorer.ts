import { MINUTE, type Clock } from '../../../../core/clock.ts'
import { Conflict } from '../../../../core/errors.ts'
import type { Provided } from '../../../../core/provided.ts'
import type { Turn } from '../../../../core/turn.ts'
import {
  type ApprovalGate,
  reservationsOf,
  RESERVING,
  saveVersion,
  type PostData,
  type LoadedPost,
  type TargetRow,
} from '../../posts/index.ts'
import { timeOfPost, type BudgetPlanner, publishAt } from '../../planning/index.ts'
import type { PostChecks } from '../checks.ts'
import { stampOf } from './stamp.ts'
import type { PostBefore } from './tables.ts'

interface Needs {
  readonly clock: Clock
  readonly checks: PostChecks
  readonly room: BudgetPlanner
  readonly approvals: Provided<ApprovalGate>
}

/** Restores posts as they were before a bulk change: times, states, labels and approvals. */
export class PostRestorer {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * @param made since: when the change was made
   * @throws AppError conflict if the post has changed since, or its time has passed; budget_exceeded, account_not_usable,
   *   platform_validation_failed
   */
  async restore(
    turn: Turn,
    now: LoadedPost,
    before: PostBefore,
    { since, userId }: { readonly since: string; readonly userId: string },
  ): Promise<PostData> {
    const { approvals, clock } = this.#needs
    if (stampOf(now) !== before.stamp) throw Conflict({ message: 'The post has changed since, so it stays as it is.' })
    const at = new Date(clock.now()).toISOString()
    const old = new Map(before.targets.map((target) => [target.id, target]))
    const targets = now.targets.map((target) => {
      const known = old.get(target.id)
      return known === undefined ? target : { ...target, ...known, plan: target.plan + 1, updatedAt: at }
    })
    const restored = { post: { ...now.post, ...before.post, updatedAt: at }, targets }
    await this.#requireTimes(turn, now, restored, at)
    const after = await approvals.get().restored(turn, restored, since)
    for (const { scheduledAt, status } of after.targets) {
      if (status === 'scheduled' && scheduledAt !== null) publishAt(turn, Date.parse(scheduledAt))
    }
    return saveVersion(turn, now, after, { kind: 'restored', authorId: userId, now: clock.now() })
  }

  /** Refuses earlier times that have passed, or that others have taken since. */
  async #requireTimes(turn: Turn, now: LoadedPost, { post, targets }: LoadedPost, at: string): Promise<void> {
    const { checks, room } = this.#needs
    const known = new Map(now.targets.map((target) => [target.id, target]))
    const isBack = (target: TargetRow) => {
      const old = known.get(target.id)
      return isReserving(target) && !(old !== undefined && isReserving(old) && old.scheduledAt === target.scheduledAt)
    }
    const back = targets.filter(isBack)
    if (back.length === 0) return
    const late = back.find(({ scheduledAt, startBy }) => (startBy ?? scheduledAt ?? at) <= at)
    if (late !== undefined) {
      const minutes = Math.round((Date.parse(at) - Date.parse(late.scheduledAt ?? at)) / MINUTE)
      throw Conflict({ message: `The earlier time of the post passed ${minutes} minutes ago, so it stays as it is.` })
    }
    const resources = await checks.resources(turn, post.body, back)
    checks.require(post.body, back, resources)
    checks.requireUsable(back, resources)
    // What the post has now does not keep it from its earlier time.
    reservationsOf(turn).change(now.targets, [])
    const planned = back.map((target) => ({ ...target, time: timeOfPost(target) }))
    await room.require(turn, { body: post.body, resources, targets: planned, label: null })
  }
}

function isReserving({ scheduledAt, status }: TargetRow): boolean {
  return scheduledAt !== null && RESERVING.includes(status)
}
