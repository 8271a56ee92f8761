import type { Clock } from '../../../core/clock.ts'
import type { IfMatch } from '../../../core/precondition.ts'
import { requireVersion } from '../../../core/precondition.ts'
import type { Turn } from '../../../core/turn.ts'
import { timeZoneOf } from '../../workspace/workspaces/index.ts'
import type { PostAuthor } from './author.ts'
import { calledTargets } from './called.ts'
import type { PostChecks } from './checks.ts'
import { postDeleted } from './events.ts'
import { act, canAct, notPossible, scheduled, startBy, timesOf } from './planning.ts'
import { publishTarget } from './publication/jobs.ts'
import type { PostData } from './schemas.ts'
import { statusOfPost, type TargetAction } from './state.ts'
import { loadPost, savePost, type LoadedPost } from './store.ts'
import { posts, type TargetRow } from './tables.ts'
import { plannedTime, type PlannedTime } from './time.ts'

/** What users do with posts beside writing them, in turns. */
export class PostActions {
  readonly #clock: Clock
  readonly #author: PostAuthor
  readonly #checks: PostChecks

  constructor(clock: Clock, author: PostAuthor, checks: PostChecks) {
    this.#clock = clock
    this.#author = author
    this.#checks = checks
  }

  /**
   * Gives a post a time. Targets with a time of their own keep it.
   * @throws AppError not_found, validation_failed, platform_validation_failed, account_not_usable, post_state_conflict
   */
  async reschedule(
    turn: Turn,
    id: string,
    { scheduledFor, timezone }: { scheduledFor: string; timezone?: string },
    { ifMatch, userId }: { userId: string; ifMatch: IfMatch },
  ): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    requireVersion(ifMatch, before.post.version)
    const zone = timezone ?? before.post.timeZone ?? (await timeZoneOf(turn.sql, turn.workspaceId))
    const time = plannedTime(scheduledFor, zone)
    const after = await this.#scheduleAll(turn, before, time, ({ ownTime }) => !ownTime)
    return this.#author.saveVersion(turn, before, after, { kind: 'rescheduled', authorId: userId })
  }

  /**
   * Publishes a draft, a scheduled or a missed post now.
   * @throws AppError not_found, platform_validation_failed, account_not_usable, post_state_conflict
   */
  async publish(turn: Turn, id: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const zone = before.post.timeZone ?? (await timeZoneOf(turn.sql, turn.workspaceId))
    const time = plannedTime(new Date(this.#clock.now()).toISOString(), zone)
    const after = await this.#scheduleAll(turn, before, time, () => true)
    return this.#save(turn, before, after)
  }

  /**
   * Cancels what is not published yet. A target that is being published is cancelled if the call that publishes it has
   * not been made.
   * @throws AppError not_found, post_state_conflict
   */
  async cancel(turn: Turn, id: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const called = await calledTargets(turn, before)
    const at = new Date(this.#clock.now()).toISOString()
    const canCancel = (target: TargetRow) => canAct(target, 'cancel') && !called.has(target.id)
    requireOne(before, 'cancel', canCancel)
    const targets = before.targets.map((target) => {
      if (!canCancel(target)) return target
      // Without an attempt, the publisher that has it cannot go on.
      const ended = { attemptId: null, leaseUntil: null, nextAttemptAt: null, problem: null }
      return act(target, 'cancel', { ...ended, plan: target.plan + 1, updatedAt: at })
    })
    return this.#save(turn, before, { ...before, targets })
  }

  /**
   * Tries the failed targets again. Parts that are published are never sent twice.
   * @throws AppError not_found, post_state_conflict
   */
  async retry(turn: Turn, id: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const canRetry = (target: TargetRow) => canAct(target, 'retry') && target.status !== 'unconfirmed'
    requireOne(before, 'retry', canRetry)
    const now = new Date(this.#clock.now())
    const { lateMinutes } = before.post
    const targets = before.targets.map((target) => {
      if (!canRetry(target)) return target
      const plan = target.plan + 1
      turn.job(publishTarget, { targetId: target.id, plan })
      const at = now.toISOString()
      const started = { plan, attemptCount: 0, nextAttemptAt: at, startBy: startBy({ scheduledAt: at }, lateMinutes) }
      return act(target, 'retry', { ...started, problem: null, updatedAt: at })
    })
    return this.#save(turn, before, { ...before, targets })
  }

  /**
   * Deletes a post in Crier.
   * @throws AppError not_found, precondition_failed; post_state_conflict while it is being published
   */
  async remove(turn: Turn, id: string, ifMatch: IfMatch): Promise<void> {
    const before = await loadPost(turn.sql, id)
    requireVersion(ifMatch, before.post.version)
    const busy = before.targets.filter((target) => !canAct(target, 'delete'))
    const status = statusOfPost(before.targets.map((target) => target.status))
    if (busy.length > 0) throw notPossible('delete', status, busy, 'Try again when it has ended.')
    const deletedAt = new Date(this.#clock.now()).toISOString()
    await posts.update(turn.sql, { id }, { deletedAt })
    turn.emit(postDeleted, { postId: id })
    turn.audit({ kind: 'post', id })
  }

  /** Schedules the targets that can be, and checks them first. */
  async #scheduleAll(
    turn: Turn,
    before: LoadedPost,
    time: PlannedTime,
    isMeant: (target: TargetRow) => boolean,
  ): Promise<LoadedPost> {
    const at = new Date(this.#clock.now()).toISOString()
    const isChosen = (target: TargetRow) => canAct(target, 'schedule') && isMeant(target)
    requireOne(before, 'schedule', isChosen)
    const chosen = before.targets.filter((target) => isChosen(target))
    const { body } = before.post
    const resources = await this.#checks.resources(turn.sql, turn.workspaceId, body, chosen)
    this.#checks.require(body, chosen, resources)
    this.#checks.requireUsable(chosen, resources)
    const planned = { time, at, lateMinutes: before.post.lateMinutes }
    const targets = before.targets.map((target) => (isChosen(target) ? scheduled(turn, target, planned) : target))
    return { post: { ...before.post, ...timesOf(time), updatedAt: at }, targets }
  }

  async #save(turn: Turn, before: LoadedPost, after: LoadedPost): Promise<PostData> {
    const updatedAt = new Date(this.#clock.now()).toISOString()
    turn.audit({ kind: 'post', id: before.post.id })
    return savePost(turn, before, { ...after, post: { ...after.post, updatedAt } })
  }
}

/** @throws AppError post_state_conflict if the action is possible for no target */
function requireOne({ targets }: LoadedPost, action: TargetAction, isPossible: (target: TargetRow) => boolean): void {
  if (targets.some((target) => isPossible(target))) return
  const status = statusOfPost(targets.map((target) => target.status))
  throw notPossible(action, status, targets, targets.length === 0 ? 'It names no account.' : '')
}
