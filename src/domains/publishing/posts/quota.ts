import type { MemoryKey, Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { TargetStatus } from './state.ts'
import { posts } from './tables.ts'

/** Posts in these states count for the plan. What is published or has failed does not. */
const OPEN: readonly TargetStatus[] = ['draft', 'in_review', 'ready', 'scheduled']

/**
 * An upper bound of the workspace's open posts. Publishing and deleting posts does not lower it, so the posts are
 * counted again before a request is refused.
 */
const OPEN_POSTS: MemoryKey<{ atMost: number | undefined }> = {
  name: 'posts.open',
  make: () => ({ atMost: undefined }),
}

/** How many posts a workspace can plan. */
export class PostQuota {
  readonly #plans: PlanService
  /** By turn: how many posts it has added. */
  readonly #added = new WeakMap<Turn, number>()

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  /** Takes room for a new post. @throws AppError plan_limit_reached */
  async take(turn: Turn): Promise<void> {
    const { workspaceId } = turn
    const memory = turn.memory(OPEN_POSTS)
    const before = this.#added.get(turn) ?? 0
    const { atMost } = memory
    if (atMost === undefined || !(await this.#plans.hasRoom(workspaceId, 'openPosts', atMost + before))) {
      // With those of this turn.
      const count = await posts.count(turn.sql, { workspaceId, status: anyOf(OPEN), deletedAt: null })
      await this.#plans.requireRoom(workspaceId, 'openPosts', count)
      memory.atMost = count - before
    }
    this.#added.set(turn, before + 1)
    if (before > 0) return
    turn.settled(() => {
      memory.atMost = (memory.atMost ?? 0) + (this.#added.get(turn) ?? 0)
    })
  }
}
