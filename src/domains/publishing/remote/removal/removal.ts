import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import { requireVersion, type IfMatch } from '../../../../core/precondition.ts'
import type { Turn } from '../../../../core/turn.ts'
import type { PostActions } from '../../writing/index.ts'
import {
  calledTargets,
  act,
  canAct,
  notPossible,
  type PostData,
  statusOfPost,
  loadPost,
  savePost,
  type TargetRow,
} from '../../posts/index.ts'
import { deletePostNow } from './deleting.ts'
import { isShown, type RemoteChanges } from '../edits/remote-changes.ts'
import { REASONS } from '../edits/reasons.ts'
import type { DeletedPostData } from '../schemas.ts'

interface Options {
  readonly fromPlatforms: boolean
  readonly ifMatch: IfMatch
}

/** Deletes posts, in Crier and at their platforms. */
export class PostRemoval {
  readonly #clock: Clock
  readonly #actions: PostActions
  readonly #changes: RemoteChanges

  constructor(clock: Clock, actions: PostActions, changes: RemoteChanges) {
    this.#clock = clock
    this.#actions = actions
    this.#changes = changes
  }

  /**
   * Deletes a post.
   * @returns the post if it stays until its platforms have deleted it; undefined if it is deleted
   * @throws AppError not_found, precondition_failed, post_state_conflict
   */
  async remove(turn: Turn, id: string, { fromPlatforms, ifMatch }: Options): Promise<PostData | undefined> {
    if (fromPlatforms) return this.#removeEverywhere(turn, id, ifMatch)
    await this.#actions.remove(turn, id, ifMatch)
    return undefined
  }

  /** Deletes posts independently of each other. @returns a result for each id */
  async removeMany(turn: Turn, ids: readonly string[], fromPlatforms: boolean): Promise<DeletedPostData[]> {
    const results: DeletedPostData[] = []
    for (const id of ids) results.push(await this.#result(turn, id, fromPlatforms))
    return results
  }

  async #result(turn: Turn, id: string, fromPlatforms: boolean): Promise<DeletedPostData> {
    try {
      const post = await loadPost(turn.sql, id)
      // Another workspace's post gets the same reply as a missing one.
      if (post.post.workspaceId !== turn.workspaceId) return missing(id)
      const left = await this.remove(turn, id, { fromPlatforms, ifMatch: undefined })
      return left === undefined
        ? { _id: id, status: 'deleted', httpStatus: 200, message: 'Post deleted' }
        : { _id: id, status: 'deleting', httpStatus: 202, message: 'Post is being deleted at its platforms' }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.status === 404) return missing(id)
      return { _id: id, status: 'refused', httpStatus: error.status, message: error.message }
    }
  }

  /**
   * Deletes what is published, and then the post. A target whose publishing call has not been made is cancelled. One
   * whose call may have been made is published first, or found not to be, and then deleted.
   */
  async #removeEverywhere(turn: Turn, id: string, ifMatch: IfMatch): Promise<PostData | undefined> {
    const before = await loadPost(turn.sql, id)
    requireVersion(ifMatch, before.post.version)
    const at = new Date(this.#clock.now()).toISOString()
    const called = await calledTargets(turn, before)
    const undecided = before.targets.filter((target) => {
      return target.status === 'unconfirmed' && target.nextAttemptAt === null && target.attemptId === null
    })
    if (undecided.length > 0) {
      const status = statusOfPost(before.targets.map((target) => target.status))
      const why = 'It is not known whether it was published at one of its accounts. Say whether it was, then try again.'
      throw notPossible('delete', status, undecided, why)
    }
    const changes = await this.#changes.changesOf(turn, before)
    let isLeft = false
    const targets: TargetRow[] = []
    for (const target of before.targets) {
      const isRunning = called.has(target.id) || target.status === 'unconfirmed'
      if (isRunning || isShown(target)) {
        isLeft = true
        targets.push(await this.#planned(turn, target, changes.get(target.id), at, isRunning))
      } else if (canAct(target, 'cancel')) {
        // Without an attempt, the publisher that has it cannot go on.
        const ended = { attemptId: null, leaseUntil: null, nextAttemptAt: null, problem: null }
        targets.push(act(target, 'cancel', { ...ended, plan: target.plan + 1, updatedAt: at }))
      } else targets.push(target)
    }
    turn.audit({ kind: 'post', id, details: { fromPlatforms: true } })
    const view = await savePost(turn, before, { post: { ...before.post, updatedAt: at }, targets })
    if (isLeft) return view
    await deletePostNow(turn, id, at)
    return undefined
  }

  async #planned(
    turn: Turn,
    target: TargetRow,
    known: Parameters<RemoteChanges['request']>[3],
    updatedAt: string,
    isRunning: boolean,
  ): Promise<TargetRow> {
    const { canRemove, title } = this.#changes.platform(target)
    if (!canRemove) return { ...target, problem: isRunning ? target.problem : REASONS.notRemovable(title), updatedAt }
    await this.#changes.request(turn, target, 'remove', known)
    // While a target is being published, its reason says how that goes.
    return isRunning ? target : { ...target, problem: REASONS.removing(title), updatedAt }
  }
}

function missing(id: string): DeletedPostData {
  return { _id: id, status: 'not_found', httpStatus: 404, message: 'The workspace has no post with this id.' }
}
