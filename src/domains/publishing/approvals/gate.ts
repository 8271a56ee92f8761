import { Conflict } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import {
  act,
  snapshotOf,
  type ApprovalGate,
  type GatedChange,
  type LoadedPost,
  type PlanningScope,
  type PostApprovalData,
  type TargetRow,
} from '../posts/index.ts'
import { changedParts, changesBetween, seenHash, versionOf } from '../writing/index.ts'
import { scheduled, timeOfPost } from '../planning/index.ts'
import { flowOf } from './flows.ts'
import { isPassed, isReviewed, withApproval, type Reviewed, type Reviews } from './reviews.ts'
import type { FlowRow } from './tables.ts'

/**
 * Whether a change can reopen an approval. An approval whose flow was deleted before every stage passed starts over
 * instead.
 */
function isCurrent(approval: PostApprovalData): boolean {
  const { status } = approval
  return status === 'open' || status === 'approved' || (status === 'ready' && isPassed(approval))
}

/**
 * Decides what a change of a post means for its approval. The flow applies to everybody, owners included; only an
 * override of the open stage gets around it.
 */
export class PostGate implements ApprovalGate {
  readonly #reviews: Reviews

  constructor(reviews: Reviews) {
    this.#reviews = reviews
  }

  async applies(scope: PlanningScope): Promise<boolean> {
    return (await flowOf(scope)) !== undefined
  }

  async changed(turn: Turn, change: GatedChange): Promise<LoadedPost> {
    const { after, before, publishNow, userId } = change
    const flow = await flowOf(turn)
    if (flow === undefined)
      return after.post.approval === null ? after : { ...after, post: { ...after.post, approval: null } }
    const chosen = chosenIn(before, after)
    const isWaiting = after.targets.some(({ status }) => ['in_review', 'ready', 'scheduled'].includes(status))
    if (chosen.size === 0 && !isWaiting) return after
    if (!isReviewed(after) || !isCurrent(after.post.approval)) {
      // It was scheduled before there was a flow, and approvers would see no difference.
      const isSame = before !== undefined && chosen.size === 0 && changedParts(before, after).every(isUnseen)
      return isSame ? after : this.#reviews.submit(turn, flow, submitted(after, chosen), { userId, publishNow })
    }
    const authored = withApproval(after, {
      authorIds: [...new Set([...after.post.approval.authorIds, userId])],
      publishWhenApproved: publishNow || (chosen.size === 0 && after.post.approval.publishWhenApproved),
    })
    const stage = await firstAffected(turn, flow, authored)
    if (stage === undefined) return this.#kept(turn, authored, chosen)
    return this.#reviews.reopen(turn, flow, submitted(authored, chosen), stage)
  }

  async restored(turn: Turn, loaded: LoadedPost, since: string): Promise<LoadedPost> {
    const flow = await flowOf(turn)
    const isOther = flow === undefined ? loaded.post.approval !== null : flow.updatedAt > since
    if (isOther) throw Conflict({ message: 'The approval flow has changed since, so the post stays as it is.' })
    if (flow === undefined || !isReviewed(loaded) || loaded.post.approval.status !== 'open') return loaded
    return this.#reviews.resume(turn, flow, loaded)
  }

  async refused(turn: Turn, found: LoadedPost, targetId: string): Promise<LoadedPost | undefined> {
    if (!isReviewed(found)) return undefined
    const flow = await flowOf(turn)
    if (flow === undefined) return undefined
    const { approval } = found.post
    const isApproved = approval.status === 'approved' || approval.status === 'ready'
    if (isApproved && approval.contentHash === (await seenHash(turn.sql, found))) return undefined
    const reopened = await this.#reviews.reopen(
      turn,
      flow,
      submitted(found, new Set([targetId])),
      (await firstAffected(turn, flow, found)) ?? 1,
    )
    const targets = reopened.targets.map((target) =>
      target.status === 'in_review' ? { ...target, problem: CHANGED, nextAttemptAt: null } : target,
    )
    return { ...reopened, targets }
  }

  /** The approval still covers the post, so targets with a new time go on where they were. */
  async #kept(turn: Turn, loaded: Reviewed, chosen: ReadonlySet<string>): Promise<LoadedPost> {
    const { approval, lateMinutes, updatedAt: at } = loaded.post
    const targets = loaded.targets.map((target) => {
      if (!chosen.has(target.id)) return target
      if (approval.status !== 'approved') return placed(target, approval.status === 'open')
      const time = timeOfPost(target)
      return time === null ? target : scheduled(turn, target, { time, lateMinutes, at })
    })
    const contentHash = await seenHash(turn.sql, { ...loaded, targets })
    return withApproval({ ...loaded, targets }, { contentHash })
  }
}

const CHANGED = {
  code: 'not_approved',
  message: 'The post has changed since it was approved, so it waits for approval again.',
  whoActs: 'user',
  nextStep: 'An approver must approve it again.',
  kind: null,
  platformCode: null,
  platformMessage: null,
} as const

/** The targets that a change gives a time. */
function chosenIn(before: LoadedPost | undefined, after: LoadedPost): ReadonlySet<string> {
  const plans = new Map(before?.targets.map(({ id, plan }) => [id, plan]))
  const chosen = after.targets.filter(
    ({ id, plan, scheduledAt }) => scheduledAt !== null && plan > (plans.get(id) ?? 0),
  )
  return new Set(chosen.map(({ id }) => id))
}

/** The post with the chosen targets in review. The review adds those that wait. */
function submitted<T extends LoadedPost>(loaded: T, chosen: ReadonlySet<string>): T {
  return { ...loaded, targets: loaded.targets.map((one) => (chosen.has(one.id) ? placed(one, true) : one)) }
}

/** A target in review, or ready. */
function placed(target: TargetRow, inReview: boolean): TargetRow {
  const submitted = target.status === 'in_review' ? target : act(target, 'submit')
  return inReview ? submitted : act(submitted, 'approve')
}

const isUnseen = (part: string) => part === 'labels' || part === 'settings'

/**
 * The first stage whose decisions a change makes void: a stage that has been opened, and approves one of the parts that
 * differ from what was approved or is being decided on. Undefined if there is none.
 */
async function firstAffected(turn: Turn, flow: FlowRow, loaded: Reviewed): Promise<number | undefined> {
  const { approval, id } = loaded.post
  if (approval.contentHash === (await seenHash(turn.sql, loaded))) return undefined
  const seen = await versionOf(turn.sql, id, approval.version)
  const parts = seen === undefined ? [] : changesBetween(seen, snapshotOf(loaded)).parts
  const visible: readonly string[] = parts.filter((part) => !isUnseen(part))
  // The texts are the same, so a file has another content.
  const changed = visible.length === 0 ? ['media'] : visible
  const last = approval.status === 'open' ? (approval.stage ?? 1) : flow.stages.length
  const index = flow.stages.findIndex(({ parts: approved }) => approved.some((part) => changed.includes(part)))
  return index === -1 || index + 1 > last ? undefined : index + 1
}
