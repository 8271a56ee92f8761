import { HOUR, type Clock } from '../../../core/clock.ts'
import type { Turn } from '../../../core/turn.ts'
import {
  act,
  canAct,
  loadPost,
  savePost,
  type LoadedPost,
  type PostApprovalData,
  type PostDecisionData,
  type TargetProblem,
  type TargetRow,
} from '../posts/index.ts'
import { canonicalJson, postsInReview, seenHash } from '../writing/index.ts'
import { plannedTime, scheduled, timeOfPost, timesOf } from '../planning/index.ts'
import { candidatesOf } from './approvers.ts'
import { guestsFor } from './guests/store.ts'
import { announceStages, endStage } from './jobs.ts'
import { notifyAuthors } from './notices.ts'
import { progressOf } from './progress.ts'
import type { StageData } from './schemas.ts'
import type { FlowRow } from './tables.ts'

/** How many decisions a post shows. */
const MAX_DECISIONS = 50

/** A post that was submitted. */
export interface Reviewed extends LoadedPost {
  readonly post: LoadedPost['post'] & { readonly approval: PostApprovalData }
}

export function isReviewed(loaded: LoadedPost): loaded is Reviewed {
  return loaded.post.approval !== null
}

/** How a review ends without an approval. */
export type Ending = Pick<PostApprovalData, 'message'> & {
  readonly status: 'changes_requested' | 'rejected' | 'withdrawn'
}

/** Moves posts through the stages of a flow. All methods return the changed post, which the caller saves. */
export class Reviews {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Opens the first stage for a post. */
  async submit(
    turn: Turn,
    flow: FlowRow,
    { post, targets }: LoadedPost,
    { publishNow, userId }: { userId: string; publishNow: boolean },
  ): Promise<LoadedPost> {
    const now = this.#now()
    const old = post.approval
    const approval: PostApprovalData = {
      status: 'open',
      message: null,
      stage: 1,
      stageName: null,
      stages: [],
      approverIds: [],
      isFallback: false,
      decisions: (old?.decisions ?? []).map((one) => ({ ...one, isCurrent: false })),
      contentHash: await seenHash(turn.sql, { post, targets }),
      version: post.version,
      publishWhenApproved: publishNow,
      authorIds: [...new Set([post.createdBy, ...(old?.authorIds ?? []), userId])],
      submittedAt: now,
      submittedBy: userId,
      openedAt: now,
      deadlineAt: null,
      remindedAt: null,
      opening: old?.opening ?? 0,
    }
    const reviewed = { post: { ...post, approval }, targets: targets.map((target) => this.#inReview(target)) }
    return this.settle(turn, flow, reviewed, { opens: true })
  }

  /**
   * Opens a stage again, and with it those that follow, because the post has changed.
   * @param stage from 1
   */
  async reopen(turn: Turn, flow: FlowRow, { post, targets }: Reviewed, stage: number): Promise<LoadedPost> {
    const approval: PostApprovalData = {
      ...post.approval,
      status: 'open',
      stage,
      decisions: post.approval.decisions.map((one) => (one.stage < stage ? one : { ...one, isCurrent: false })),
      contentHash: await seenHash(turn.sql, { post, targets }),
    }
    const reviewed = { post: { ...post, approval }, targets: targets.map((target) => this.#inReview(target)) }
    return this.settle(turn, flow, reviewed, { opens: true })
  }

  /**
   * Brings an open review up to date: passes the stages that have what they need, and counts again who can decide.
   * @param opens whether the open stage has just been opened
   * @param holds keeps the open stage from passing, because nobody has made a decision. If everyone who is left has
   *   approved, the stage waits until a member with `approvals:manage` confirms it.
   */
  async settle(
    turn: Turn,
    flow: FlowRow,
    loaded: Reviewed,
    { holds = false, opens = false }: { readonly opens?: boolean; readonly holds?: boolean } = {},
  ): Promise<LoadedPost> {
    const members = await candidatesOf(turn)
    const hasGuests = flow.stages.some(({ approvers }) => approvers.guests)
    const guests = hasGuests ? await guestsFor(turn.sql, loaded, this.#now()) : []
    const situation = { flow, approval: loaded.post.approval, members, guests }
    const all = flow.stages.map((stage, index) => progressOf(stage, index + 1, situation))
    const first = loaded.post.approval.stage ?? 1
    const isHeld = holds && all[first - 1]?.isPassed === true
    const next = isHeld ? first - 1 : all.findIndex(({ isPassed }, index) => index + 1 >= first && !isPassed)
    const stages = flow.stages.map(({ name, rule }, index) => {
      const { approvedCount = 0, neededCount = 1 } = all[index] ?? {}
      const status = next === -1 || index < next ? 'passed' : index === next ? 'open' : 'waiting'
      const isWaiting = isHeld && index === next
      return { name, rule, status, neededCount: isWaiting ? approvedCount + 1 : neededCount, approvedCount } as const
    })
    const reviewed = withApproval(loaded, { stages })
    const stage = flow.stages[next]
    const progress = all[next]
    if (stage === undefined || progress === undefined) return this.#finish(turn, flow, reviewed)
    const isFallback = isHeld || progress.isFallback
    const approverIds = isHeld ? progress.managerIds : progress.approverIds
    const message = isHeld
      ? `The approvals that the stage “${stage.name}” waited for cannot be given any more, because approvers were removed or the flow has changed. A holder of approvals:manage must confirm the post.`
      : isFallback
        ? `Nobody of the stage “${stage.name}” can decide any more. Holders of approvals:manage decide in their place.`
        : `It waits for the stage “${stage.name}”.`
    const reason = isFallback ? noApprover(message) : null
    const targets = reviewed.targets.map((target) => withReason(target, reason))
    const open = withApproval(
      { ...reviewed, targets },
      {
        stage: next + 1,
        stageName: stage.name,
        approverIds: [...approverIds],
        isFallback,
        message,
      },
    )
    const isNewlyHeld = isHeld && !loaded.post.approval.isFallback
    return opens || next + 1 !== first || isNewlyHeld ? this.#open(turn, stage, open) : open
  }

  /** Continues a review that was open before: counts again who can decide, and waits for its deadline. */
  resume(turn: Turn, flow: FlowRow, loaded: Reviewed): Promise<LoadedPost> {
    const { deadlineAt, opening } = loaded.post.approval
    // The job of the deadline may have run in the meantime.
    if (deadlineAt !== null) turn.job(endStage, { postId: loaded.post.id, opening }, { runAt: new Date(deadlineAt) })
    return this.settle(turn, flow, loaded, { holds: true })
  }

  /** Ends a review without an approval. The targets are drafts again and keep their times. */
  close(loaded: Reviewed, ending: Ending): Reviewed {
    const now = this.#now()
    const targets = loaded.targets.map((target) =>
      target.status === 'in_review'
        ? act(target, 'withdraw', { plan: target.plan + 1, problem: null, updatedAt: now })
        : target,
    )
    return withApproval({ ...loaded, targets }, { ...ENDED, ...ending })
  }

  /** Adds a decision at the open stage. */
  decided(
    loaded: Reviewed,
    decision: Pick<PostDecisionData, 'decision' | 'kind' | 'comment'> &
      Partial<Pick<PostDecisionData, 'userId' | 'guestId' | 'guestName'>>,
  ): Reviewed {
    const { approval, version } = loaded.post
    const added: PostDecisionData = {
      userId: null,
      guestId: null,
      guestName: null,
      ...decision,
      stage: approval.stage ?? 1,
      stageName: approval.stageName ?? '',
      version,
      contentHash: approval.contentHash,
      isCurrent: true,
      decidedAt: this.#now(),
    }
    return withApproval(loaded, { decisions: [...approval.decisions, added].slice(-MAX_DECISIONS) })
  }

  /** Schedules a target that is approved, or publishes it now if its time has passed. */
  release(turn: Turn, { post, targets }: LoadedPost, isChosen: (target: TargetRow) => boolean): LoadedPost {
    const at = this.#now()
    const { lateMinutes } = post
    const now = plannedTime(at, post.timeZone ?? 'UTC')
    const released = targets.map((target) => {
      if (!isChosen(target)) return target
      const own = timeOfPost(target)
      const time = own === null || own.scheduledAt <= at ? now : own
      return scheduled(turn, target, { time, lateMinutes, at })
    })
    const isNow = post.scheduledAt === null || post.scheduledAt <= at
    return { post: isNow ? { ...post, ...timesOf(now) } : post, targets: released }
  }

  /** Continues the posts in review in another flow. */
  async moveTo(turn: Turn, old: FlowRow, flow: FlowRow): Promise<void> {
    const differs = flow.stages.findIndex((stage, index) => isOtherStage(stage, old.stages[index]))
    const kept = differs === -1 ? flow.stages.length : differs
    await this.#each(turn, async (loaded) => {
      const { approval } = loaded.post
      // Without the stage that it is at, a post waits at the last one. Nobody has decided that it is published.
      const stage = Math.min(approval.stage ?? 1, kept + 1, flow.stages.length)
      const opens = stage !== approval.stage || stage > kept
      const decisions = approval.decisions.map((one) => (one.stage <= kept ? one : { ...one, isCurrent: false }))
      return this.settle(turn, flow, withApproval(loaded, { stage, decisions }), { opens, holds: true })
    })
  }

  /**
   * Ends the reviews of all posts, because their flow was deleted. They keep their times, and wait for somebody to release
   * them.
   * @returns how many
   */
  endAll(turn: Turn): Promise<number> {
    const ending = { ...ENDED, status: 'ready', message: FLOW_DELETED.message } as const
    return this.#each(turn, async (loaded) => {
      const updatedAt = this.#now()
      const targets = loaded.targets.map((target) =>
        target.status === 'in_review'
          ? act(target, 'approve', { plan: target.plan + 1, problem: FLOW_DELETED, updatedAt })
          : target,
      )
      const ended = withApproval({ ...loaded, targets }, ending)
      await notifyAuthors(turn, ended, 'flow_deleted')
      return ended
    })
  }

  /** Counts again who can decide, after members, roles, groups or links have changed. */
  async recheck(turn: Turn, flow: FlowRow): Promise<void> {
    await this.#each(turn, (loaded) => this.settle(turn, flow, loaded, { holds: true }))
  }

  async #each(turn: Turn, change: (loaded: Reviewed) => Promise<LoadedPost>): Promise<number> {
    const ids = await postsInReview(turn.sql, turn.workspaceId)
    for (const id of ids) {
      const before = await loadPost(turn.sql, id)
      if (!isReviewed(before)) continue
      const after = await change(before)
      if (canonicalJson(after) !== canonicalJson(before)) await savePost(turn, before, after)
    }
    return ids.length
  }

  #open(turn: Turn, { deadlineHours }: StageData, loaded: Reviewed): Reviewed {
    const now = this.#clock.now()
    const opening = loaded.post.approval.opening + 1
    const openedAt = new Date(now).toISOString()
    const deadline = deadlineHours === null ? null : new Date(now + deadlineHours * HOUR)
    if (deadline !== null) turn.job(endStage, { postId: loaded.post.id, opening }, { runAt: deadline })
    turn.job(announceStages, { since: openedAt }, { key: turn.workspaceId })
    const deadlineAt = deadline?.toISOString() ?? null
    return withApproval(loaded, { opening, openedAt, deadlineAt, remindedAt: null })
  }

  /** Every stage has passed. */
  async #finish(turn: Turn, flow: FlowRow, loaded: Reviewed): Promise<LoadedPost> {
    const at = this.#now()
    const { approval, lateMinutes, timeZone } = loaded.post
    const holds = flow.stages.at(-1)?.autoSchedule === false
    const now = plannedTime(at, timeZone ?? 'UTC')
    const targets = loaded.targets.map((target) => {
      if (target.status !== 'in_review') return target
      const time = approval.publishWhenApproved ? now : timeOfPost(target)
      if (holds || time === null) return act(target, 'approve', { plan: target.plan + 1, problem: null, updatedAt: at })
      return scheduled(turn, target, { time, lateMinutes, at })
    })
    const waits = targets.some(({ status }) => status === 'ready')
    const post = { ...loaded.post, ...(approval.publishWhenApproved && !waits && timesOf(now)) }
    const contentHash = await seenHash(turn.sql, { post, targets })
    const passed = waits
      ? ({ status: 'ready', message: 'It is approved, and waits to be released.' } as const)
      : ({ status: 'approved', message: 'It is approved.' } as const)
    const finished = withApproval({ post, targets }, { ...ENDED, ...passed, contentHash })
    await notifyAuthors(turn, finished)
    return finished
  }

  #inReview(target: TargetRow): TargetRow {
    const isMeant = ['draft', 'ready', 'scheduled'].includes(target.status)
    if (!isMeant || !canAct(target, 'submit')) return target
    return act(target, 'submit', { plan: target.plan + 1, problem: null, updatedAt: this.#now() })
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

const NO_APPROVER = 'no_approver'

/** Why a post waits whose stage has lost its approvers. */
function noApprover(message: string): TargetProblem {
  return {
    code: NO_APPROVER,
    message,
    whoActs: 'user',
    nextStep: 'A holder of approvals:manage approves or rejects the post, or names other approvers in the flow.',
    kind: null,
    platformCode: null,
    platformMessage: null,
  }
}

/** A target in review with the reason, or without a reason that is no longer true. */
function withReason(target: TargetRow, reason: TargetProblem | null): TargetRow {
  if (target.status !== 'in_review') return target
  if (reason !== null) return { ...target, problem: reason }
  return target.problem?.code === NO_APPROVER ? { ...target, problem: null } : target
}

/** Why a post waits whose flow was deleted. */
const FLOW_DELETED: TargetProblem = {
  code: 'approval_flow_deleted',
  message: 'The approval flow was deleted before the post was approved, so it waits to be released.',
  whoActs: 'user',
  nextStep: 'Release the post to publish it at its time, or take it from the schedule.',
  kind: null,
  platformCode: null,
  platformMessage: null,
}

/** Whether every stage has approved a post. One whose flow was deleted can be ready without that. */
export function isPassed({ status, stages }: PostApprovalData): boolean {
  return status !== 'open' && stages.every((stage) => stage.status === 'passed')
}

/** Fields of a review without an open stage. */
const ENDED = { stage: null, stageName: null, approverIds: [], isFallback: false, deadlineAt: null }

/** The post with changes of its approval. */
export function withApproval(
  { post, targets }: Reviewed | (LoadedPost & { readonly post: { readonly approval: PostApprovalData } }),
  changes: Partial<PostApprovalData>,
): Reviewed {
  return { post: { ...post, approval: { ...post.approval, ...changes } }, targets }
}

/** Whether decisions of one stage do not count at the other. */
function isOtherStage(one: StageData, other: StageData | undefined): boolean {
  return canonicalJson([one.approvers, one.rule]) !== canonicalJson([other?.approvers, other?.rule])
}
