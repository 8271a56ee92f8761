import { HOUR, SECOND, type Clock } from '../../../core/clock.ts'
import { Conflict, Forbidden, NotFound } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import type { WorkspaceLogs } from '../../../core/workspace-logs.ts'
import {
  approvedByPerson,
  canAct,
  isPerson,
  loadPost,
  notPossible,
  savePost,
  type LoadedPost,
  type PostApprovalData,
  type PostData,
  type PostDecisionData,
} from '../posts/index.ts'
import { postsInReview, seenHash } from '../writing/index.ts'
import { NoApprovalFlow, PingedRecently } from './errors.ts'
import { flowOf } from './flows.ts'
import { guestsFor } from './guests/store.ts'
import { notifyApprovers, notifyAuthors } from './notices.ts'
import { isPassed, isReviewed, withApproval, type Reviewed, type Reviews } from './reviews.ts'
import type { DecisionInputData } from './schemas.ts'
import type { FlowRow } from './tables.ts'
import type { GuestDecision } from './turns.ts'

/** How often the approvers of a post can be reminded. */
const PING_MS = HOUR

/** Refuses posts that no platform would take (`PostChecks` of posts). */
export interface StoredChecks {
  requireStored(sql: Turn['sql'], loaded: LoadedPost): Promise<void>
}

type Decider = Pick<PostDecisionData, 'userId'> | Pick<PostDecisionData, 'guestId' | 'guestName'>

/** What members and guests do with posts in review, in turns. */
export class ApprovalActions {
  readonly #clock: Clock
  readonly #reviews: Reviews
  readonly #checks: StoredChecks
  readonly #logs: Pick<WorkspaceLogs, 'recordAudit'>

  constructor(clock: Clock, reviews: Reviews, checks: StoredChecks, logs: Pick<WorkspaceLogs, 'recordAudit'>) {
    this.#clock = clock
    this.#reviews = reviews
    this.#checks = checks
    this.#logs = logs
  }

  /**
   * Submits a draft.
   * @throws AppError not_found, no_approval_flow, post_state_conflict, conflict, platform_validation_failed,
   *   account_not_usable
   */
  async submit(turn: Turn, id: string, userId: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const flow = await flowOf(turn)
    if (flow === undefined) throw NoApprovalFlow()
    const isMeant = before.targets.some((target) => target.status === 'draft' || target.status === 'scheduled')
    if (!isMeant) throw impossible('submit', before)
    await this.#checks.requireStored(turn.sql, before)
    const { approval } = before.post
    if (approval?.status === 'rejected' && approval.contentHash === (await seenHash(turn.sql, before))) {
      throw Conflict({ message: 'The post was rejected and has not changed since. Change it, then submit it again.' })
    }
    const after = await this.#reviews.submit(turn, flow, before, { userId, publishNow: false })
    return this.#save(turn, before, after, {})
  }

  /**
   * Takes a post out of the review. It is a draft again and keeps its time.
   * @throws AppError not_found, post_state_conflict
   */
  async withdraw(turn: Turn, id: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const after = this.#reviews.close(requireOpen(before), { status: 'withdrawn', message: 'It was taken back.' })
    return this.#save(turn, before, after, {})
  }

  /**
   * Decides at the open stage.
   * @throws AppError not_found, forbidden, post_state_conflict, conflict
   */
  async decide(turn: Turn, id: string, decider: Decider, input: DecisionInputData): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const open = requireOpen(before)
    const flow = await requireFlow(turn)
    const { approval } = open.post
    await requireSame(turn, open, input.contentHash)
    const who = 'userId' in decider ? decider.userId : decider.guestId
    const given = approval.decisions.find(
      (one) => one.isCurrent && one.stage === approval.stage && (one.userId ?? one.guestId) === who,
    )
    if (given !== undefined) {
      const message = `You have decided at this stage already: ${given.decision.replaceAll('_', ' ')}.`
      throw Conflict({ message, details: stateOf(before) })
    }
    if ('userId' in decider && !(await this.#canDecide(turn, flow, open, decider.userId))) {
      const message = `Only the approvers of the stage “${approval.stageName ?? ''}” can decide. The authors of a post are not among them unless the flow allows that.`
      throw Forbidden({ message })
    }
    const kind = 'userId' in decider ? 'member' : 'guest'
    const decided = this.#reviews.decided(open, { ...decider, ...decisionOf(input), kind })
    const after = this.#signed(turn, decider, input, await this.#after(turn, flow, decided, input))
    return this.#save(turn, before, after, { decision: input.decision, stage: approval.stageName, kind })
  }

  /**
   * Decides as a guest, whose link must still work and show the post.
   * @throws AppError not_found, forbidden, post_state_conflict, conflict
   */
  async decideAsGuest(turn: Turn, { guestId, input, origin, postId }: GuestDecision): Promise<void> {
    const loaded = await loadPost(turn.sql, postId)
    const now = new Date(this.#clock.now())
    const guests = await guestsFor(turn.sql, loaded, now.toISOString())
    const guest = guests.find(({ id }) => id === guestId)
    if (guest === undefined || loaded.post.workspaceId !== turn.workspaceId) throw NotFound()
    const stage = (await flowOf(turn))?.stages[(loaded.post.approval?.stage ?? 0) - 1]
    if (stage !== undefined && !stage.approvers.guests) {
      throw Forbidden({ message: 'The post waits for the team. Guests do not decide at this stage.' })
    }
    await this.decide(turn, postId, { guestId, guestName: guest.name }, input)
    await this.#logs.recordAudit(turn.sql, {
      workspaceId: turn.workspaceId,
      caller: 'guest',
      action: 'guestDecided',
      target: { kind: 'post', id: postId },
      details: { guestId, name: guest.name, decision: input.decision, comment: input.comment ?? null },
      at: now,
      origin,
    })
  }

  /**
   * Decides in place of the approvers of the open stage.
   * @throws AppError not_found, post_state_conflict
   */
  async resolve(
    turn: Turn,
    id: string,
    userId: string,
    { decision = 'approve', reason }: { decision?: DecisionInputData['decision']; reason: string },
  ): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    if (before.post.workspaceId !== turn.workspaceId) throw NotFound()
    const open = requireOpen(before)
    const flow = await requireFlow(turn)
    const decided = this.#reviews.decided(open, { userId, decision, comment: reason, kind: 'override' })
    const after = this.#signed(
      turn,
      { userId },
      { decision },
      await this.#after(turn, flow, decided, { decision, comment: reason }),
    )
    return this.#save(turn, before, after, { decision, reason, stage: open.post.approval.stageName })
  }

  /**
   * Reminds those who have not decided, by mail.
   * @throws AppError not_found, post_state_conflict, approvers_pinged_recently
   */
  async ping(turn: Turn, id: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const open = requireOpen(before)
    const { approval } = open.post
    const now = this.#clock.now()
    const waitMs = approval.remindedAt === null ? 0 : Date.parse(approval.remindedAt) + PING_MS - now
    if (waitMs > 0) throw PingedRecently({ retryAfter: Math.ceil(waitMs / SECOND) })
    this.#remind(turn, open)
    const after = withApproval(open, { remindedAt: new Date(now).toISOString() })
    return this.#save(turn, before, after, { reminded: approval.approverIds.length })
  }

  /**
   * Schedules an approved post that is held, or publishes it if its time has passed. A post that is ready because its flow
   * was deleted goes into the flow that the workspace has now, if any.
   * @throws AppError not_found, post_state_conflict
   */
  async release(turn: Turn, id: string, userId: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const isReady = before.targets.some(({ status }) => status === 'ready')
    if (!isReady) throw impossible('schedule', before)
    await this.#checks.requireStored(turn.sql, before)
    const flow = await flowOf(turn)
    if (flow !== undefined && !(isReviewed(before) && isPassed(before.post.approval))) {
      const submitted = await this.#reviews.submit(turn, flow, before, { userId, publishNow: false })
      return this.#save(turn, before, submitted, {})
    }
    const released = this.#reviews.release(turn, before, ({ status }) => status === 'ready')
    const contentHash = await seenHash(turn.sql, released)
    const approved = { status: 'approved', message: 'It was released.', contentHash } as const
    const after = isReviewed(released) ? withApproval(released, approved) : released
    return this.#save(turn, before, after, {})
  }

  /** Does what the flow says at a deadline, unless the stage has ended since. */
  async endStage(turn: Turn, { opening, postId }: { postId: string; opening: number }): Promise<void> {
    const before = await this.#openPost(turn, postId)
    const flow = await flowOf(turn)
    const stage = flow?.stages[(before?.post.approval.stage ?? 0) - 1]
    if (before === undefined || flow === undefined || stage === undefined) return
    const { approval } = before.post
    if (approval.opening !== opening || Date.parse(approval.deadlineAt ?? '') > this.#clock.now()) return
    const message = `Nobody has decided at the stage “${stage.name}” within ${stage.deadlineHours} hours.`
    const comment = null
    // A stage without approvers does not pass by itself: a person must decide.
    if (stage.afterDeadline === 'remind' || (stage.afterDeadline === 'skip' && approval.isFallback)) {
      this.#remind(turn, before)
      const remindedAt = new Date(this.#clock.now()).toISOString()
      await savePost(turn, before, withApproval(before, { remindedAt, message, deadlineAt: null }))
    } else if (stage.afterDeadline === 'skip') {
      const skipped = this.#reviews.decided(before, { decision: 'approve', kind: 'deadline', comment })
      await savePost(turn, before, await this.#reviews.settle(turn, flow, skipped))
    } else {
      const returned = this.#reviews.decided(before, { decision: 'request_changes', kind: 'deadline', comment })
      const closed = this.#reviews.close(returned, { status: 'changes_requested', message })
      await notifyAuthors(turn, closed)
      await savePost(turn, before, closed)
    }
  }

  /** Tells the approvers of the stages that have opened since a time. */
  async announce(turn: Turn, since: string): Promise<void> {
    const waiting = new Map<string, Reviewed[]>()
    for (const id of await postsInReview(turn.sql, turn.workspaceId)) {
      const open = await this.#openPost(turn, id)
      if (open === undefined || open.post.approval.openedAt < since) continue
      for (const userId of open.post.approval.approverIds) waiting.set(userId, [...(waiting.get(userId) ?? []), open])
    }
    notifyApprovers(turn, waiting, 'opened')
  }

  /** Counts again who can decide on the posts in review. */
  async recheck(turn: Turn): Promise<void> {
    const flow = await flowOf(turn)
    if (flow !== undefined) await this.#reviews.recheck(turn, flow)
  }

  async #after(turn: Turn, flow: FlowRow, decided: Reviewed, { comment, decision }: DecisionInputData) {
    if (decision === 'approve') return this.#reviews.settle(turn, flow, decided)
    const status = decision === 'reject' ? 'rejected' : 'changes_requested'
    const what = decision === 'reject' ? 'was rejected' : 'needs changes'
    const message = `It ${what}, at the stage “${decided.post.approval.stageName ?? ''}”.${comment === undefined ? '' : ` ${comment}`}`
    const closed = this.#reviews.close(decided, { status, message })
    await notifyAuthors(turn, closed)
    return closed
  }

  /** An approval of a person also decides that texts of models are published. That with an API key does not. */
  #signed(
    turn: Turn,
    decider: Decider,
    { decision }: Pick<DecisionInputData, 'decision'>,
    loaded: LoadedPost,
  ): LoadedPost {
    const isGuest = !('userId' in decider)
    if (decision !== 'approve' || !(isGuest || isPerson(turn))) return loaded
    return approvedByPerson(loaded, isGuest ? null : decider.userId, new Date(this.#clock.now()).toISOString())
  }

  /** Brings the stage up to date first, because members may have changed since the post was last saved. */
  async #canDecide(turn: Turn, flow: FlowRow, open: Reviewed, userId: string | null): Promise<boolean> {
    const now = await this.#reviews.settle(turn, flow, open, { holds: true })
    const { approverIds = [], stage = null } = now.post.approval ?? {}
    return stage === open.post.approval.stage && userId !== null && approverIds.includes(userId)
  }

  #remind(turn: Turn, open: Reviewed): void {
    const posts = new Map(open.post.approval.approverIds.map((userId) => [userId, [open]]))
    notifyApprovers(turn, posts, 'reminder')
  }

  async #openPost(turn: Turn, id: string): Promise<Reviewed | undefined> {
    const loaded = await loadPost(turn.sql, id).catch(() => undefined)
    return loaded !== undefined && isReviewed(loaded) && loaded.post.approval.status === 'open' ? loaded : undefined
  }

  #save(turn: Turn, before: LoadedPost, after: LoadedPost, details: Record<string, unknown>): Promise<PostData> {
    turn.audit({ kind: 'post', id: before.post.id, details })
    const updatedAt = new Date(this.#clock.now()).toISOString()
    return savePost(turn, before, { ...after, post: { ...after.post, updatedAt } })
  }
}

/** @throws AppError post_state_conflict unless the post waits for approvers */
function requireOpen(loaded: LoadedPost): Reviewed {
  if (isReviewed(loaded) && loaded.post.approval.status === 'open') return loaded
  throw impossible('withdraw', loaded, 'It does not wait for approval.')
}

function impossible(action: 'submit' | 'withdraw' | 'schedule', { post, targets }: LoadedPost, why?: string) {
  const first = targets.find((target) => !canAct(target, action)) ?? targets[0]
  const error = notPossible(
    action,
    first?.status ?? 'draft',
    targets,
    why ?? (targets.length === 0 ? 'It names no account.' : ''),
  )
  return Object.assign(error, { details: { ...error.details, ...approvalState(post.approval) } })
}

function stateOf({ post }: LoadedPost): Record<string, unknown> {
  return approvalState(post.approval)
}

function approvalState(approval: PostApprovalData | null): Record<string, unknown> {
  if (approval === null) return { approval: null }
  const { contentHash, decisions, stage, stageName, status } = approval
  return { approval: { status, stage, stageName, contentHash, decisions } }
}

/** @throws AppError conflict if the caller has seen another content */
async function requireSame(turn: Turn, open: Reviewed, seen: string | undefined): Promise<void> {
  const now = await seenHash(turn.sql, open)
  if (now === open.post.approval.contentHash && (seen === undefined || seen === now)) return
  const message = 'The post has changed since you have seen it. Look at it again, then decide.'
  throw Conflict({ message, details: stateOf(open) })
}

/** A post in review always has a flow: reviews end when it is deleted. */
async function requireFlow(turn: Turn): Promise<FlowRow> {
  const flow = await flowOf(turn)
  if (flow === undefined) throw NoApprovalFlow()
  return flow
}

function decisionOf({ comment, decision }: DecisionInputData) {
  return { decision, comment: comment ?? null }
}
