import type { Turn } from '../../../../core/turn.ts'
import type { PlanningScope } from '../planning-scope.ts'
import type { LoadedPost } from '../store.ts'

/** A change of a post that may need approval. */
export interface GatedChange {
  /** Undefined for a new post. */
  readonly before: LoadedPost | undefined
  /** The post after the change. Targets that got a new time have a higher `plan`, and no job yet. */
  readonly after: LoadedPost
  readonly userId: string
  /** Whether the post is to be published at once. */
  readonly publishNow: boolean
}

/**
 * The approvals of posts, as posts see them. The domain of approvals provides it, because posts cannot import that
 * domain.
 */
export interface ApprovalGate {
  /** Whether posts of the workspace must be approved before they are scheduled. */
  applies(scope: PlanningScope): Promise<boolean>
  /** Puts a changed post into review, leaves it there, or schedules it if its approval still covers it. */
  changed(turn: Turn, change: GatedChange): Promise<LoadedPost>
  /**
   * Brings a post that has got an earlier approval back up to date: who can decide, and its deadline.
   * @param since when the earlier approval was replaced
   * @throws AppError conflict if the flow has changed since then
   */
  restored(turn: Turn, loaded: LoadedPost, since: string): Promise<LoadedPost>
  /**
   * Checks a target that is about to be published against what was approved.
   * @returns the post back in review if they differ; undefined if it may be published
   */
  refused(turn: Turn, found: LoadedPost, targetId: string): Promise<LoadedPost | undefined>
}
