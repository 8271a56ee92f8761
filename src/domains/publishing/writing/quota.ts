import { SECOND, type Clock } from '../../../core/clock.ts'
import { dropOldest } from '../../../tools/drop-oldest.ts'
import type { AppError } from '../../../core/error.ts'
import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { countPosts, type TargetStatus } from '../posts/index.ts'

/** Posts in these states count for the plan. What is published or has failed does not. */
export const OPEN: readonly TargetStatus[] = ['draft', 'in_review', 'ready', 'scheduled']

/**
 * An upper bound of the workspace's open posts. Publishing and deleting posts does not lower it, so the posts are
 * counted again before a request is refused.
 */
const OPEN_POSTS: MemoryKey<{ atMost: number | undefined }> = {
  name: 'posts.open',
  make: () => ({ atMost: undefined }),
}

/** How long a check uses a count, because clients check a post again and again while it is written. */
const COUNTED_FOR_MS = 10 * SECOND
const MAX_COUNTED = 1_000

/** How many posts fit, and the error for those that do not. */
export interface PostAllowance {
  readonly left: number
  readonly error: AppError
}

/** How many posts a workspace can plan. */
export class PostQuota {
  readonly #plans: PlanService
  readonly #clock: Clock
  /** Counts that checks use, by workspace. */
  readonly #counted = new Map<string, { readonly used: number; readonly until: number }>()
  /** By turn: how many posts it has added. */
  readonly #added = new WeakMap<Turn, number>()

  constructor(plans: PlanService, clock: Clock) {
    this.#plans = plans
    this.#clock = clock
  }

  /** The error that one more post would get, for a check that writes nothing. The count may be seconds old. */
  async check(sql: Sql, workspaceId: string): Promise<AppError | undefined> {
    const now = this.#clock.now()
    const known = this.#counted.get(workspaceId)
    if (known !== undefined && known.until > now && (await this.#plans.hasRoom(workspaceId, 'openPosts', known.used))) {
      return undefined
    }
    const used = await countOpen(sql, workspaceId)
    this.#counted.delete(workspaceId)
    this.#counted.set(workspaceId, { used, until: now + COUNTED_FOR_MS })
    dropOldest(this.#counted, MAX_COUNTED)
    return (await this.#plans.shortage(workspaceId, 'openPosts', used))?.error
  }

  /** The room for several new posts; undefined if all fit. */
  async room(turn: Turn, more: number): Promise<PostAllowance | undefined> {
    const { workspaceId } = turn
    const used = await countOpen(turn.sql, workspaceId)
    const shortage = await this.#plans.shortage(workspaceId, 'openPosts', used, more)
    return shortage && { left: Math.max(0, shortage.most - used), error: shortage.error }
  }

  /** Takes room for a new post. @throws AppError plan_limit_reached */
  async take(turn: Turn): Promise<void> {
    const { workspaceId } = turn
    const memory = turn.memory(OPEN_POSTS)
    const before = this.#added.get(turn) ?? 0
    const { atMost } = memory
    if (atMost === undefined || !(await this.#plans.hasRoom(workspaceId, 'openPosts', atMost + before))) {
      // With those of this turn.
      const count = await countOpen(turn.sql, workspaceId)
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

function countOpen(sql: Sql, workspaceId: string): Promise<number> {
  return countPosts(sql, { workspaceId, statuses: OPEN })
}
