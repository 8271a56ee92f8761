import { SECOND, type Clock } from '../../../core/clock.ts'
import { dropOldest } from '../../../core/drop-oldest.ts'
import { AppError } from '../../../core/error.ts'
import { PlanLimit } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { TargetStatus } from './state.ts'
import { posts } from './tables.ts'

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

/** Checks of posts count this rarely, because clients check a post while it is written. */
const COUNTED_FOR_MS = 10 * SECOND
const MOST_COUNTED = 1_000

/** How many posts fit, and the error for those that do not. */
export interface PostRoom {
  readonly left: number
  readonly error: AppError
}

/** How many posts a workspace can plan. */
export class PostQuota {
  readonly #plans: PlanService
  readonly #clock: Clock
  /** For checks: how many posts a workspace had. */
  readonly #counted = new Map<string, { readonly used: number; readonly until: number }>()
  /** By turn: how many posts it has added. */
  readonly #added = new WeakMap<Turn, number>()

  constructor(plans: PlanService, clock: Clock) {
    this.#plans = plans
    this.#clock = clock
  }

  /** What the plan says to one more post, for a check that writes nothing. A count may be seconds old. */
  async check(sql: Sql, workspaceId: string): Promise<AppError | undefined> {
    const now = this.#clock.now()
    const known = this.#counted.get(workspaceId)
    if (known !== undefined && known.until > now && (await this.#plans.hasRoom(workspaceId, 'openPosts', known.used))) {
      return undefined
    }
    const used = await countOpen(sql, workspaceId)
    this.#counted.delete(workspaceId)
    this.#counted.set(workspaceId, { used, until: now + COUNTED_FOR_MS })
    dropOldest(this.#counted, MOST_COUNTED)
    return this.#refusal(workspaceId, used, 1)
  }

  /** How many of several new posts do not fit; undefined if all do. */
  async room(turn: Turn, more: number): Promise<PostRoom | undefined> {
    const { workspaceId } = turn
    const used = await countOpen(turn.sql, workspaceId)
    const error = await this.#refusal(workspaceId, used, more)
    return error && { left: Math.max(0, Number(error.details?.['value']) - used), error }
  }

  async #refusal(workspaceId: string, used: number, more: number): Promise<AppError | undefined> {
    try {
      await this.#plans.requireRoom(workspaceId, 'openPosts', used, more)
      return undefined
    } catch (error) {
      if (error instanceof AppError && error.code === PlanLimit.code) return error
      throw error
    }
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
  return posts.count(sql, { workspaceId, status: anyOf(OPEN), deletedAt: null })
}
