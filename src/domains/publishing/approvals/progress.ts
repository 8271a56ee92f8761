import type { PostApprovalData, PostDecisionData } from '../posts/index.ts'
import { isNamed, type Candidate } from './approvers.ts'
import type { StageData } from './schemas.ts'
import type { FlowRow } from './tables.ts'

/** Those who can decide at a stage, and how far it is. */
export interface Progress {
  readonly isPassed: boolean
  readonly neededCount: number
  readonly approvedCount: number
  /** Holders of `approvals:manage` who can decide and have not. */
  readonly managerIds: readonly string[]
  /** Members who can decide and have not. */
  readonly approverIds: readonly string[]
  readonly guestIds: readonly string[]
  /** Nobody of the stage is left, so holders of `approvals:manage` decide. */
  readonly isFallback: boolean
}

/** A guest with a link to the post. */
export interface Guest {
  readonly id: string
  readonly name: string
}

interface Situation {
  readonly flow: Pick<FlowRow, 'authorsMayApprove'>
  readonly approval: Pick<PostApprovalData, 'authorIds' | 'decisions'>
  readonly members: readonly Candidate[]
  readonly guests: readonly Guest[]
}

/** The decisions that count at a stage. @param stage from 1 */
export function decisionsAt({ decisions }: Pick<PostApprovalData, 'decisions'>, stage: number): PostDecisionData[] {
  return decisions.filter((one) => one.isCurrent && one.stage === stage)
}

/**
 * The progress of a stage, given who can decide now. An approval still counts after its author has left, and
 * `all` and numbers never wait for people who cannot decide. Only a decision passes a stage (`Reviews.settle`).
 * @param number of the stage, from 1
 */
export function progressOf(stage: StageData, number: number, { approval, flow, guests, members }: Situation): Progress {
  const mayDecide = ({ userId }: Candidate) => flow.authorsMayApprove || !approval.authorIds.includes(userId)
  const current = decisionsAt(approval, number)
  const approvals = current.filter(({ decision }) => decision === 'approve')
  const isForced = approvals.some(({ kind }) => kind === 'override' || kind === 'deadline')
  const named = members.filter((one) => one.canApprove && isNamed(stage.approvers, one) && mayDecide(one))
  const guestIds = stage.approvers.guests ? guests.map(({ id }) => id) : []
  const isFallback = named.length + guestIds.length === 0
  const managers = members.filter((one) => one.canManage && mayDecide(one))
  const deciders = isFallback ? managers : named
  const decided = new Set(current.map(({ guestId, userId }) => userId ?? guestId))
  const pending = deciders.map(({ userId }) => userId).filter((id) => !decided.has(id))
  const pendingGuests = guestIds.filter((id) => !decided.has(id))
  const most = approvals.length + pending.length + pendingGuests.length
  const asked = stage.rule === 'any' || isFallback ? 1 : stage.rule === 'all' ? most : stage.rule
  const neededCount = Math.max(1, Math.min(asked, most))
  return {
    isPassed: isForced || approvals.length >= neededCount,
    neededCount,
    approvedCount: approvals.length,
    managerIds: managers.map(({ userId }) => userId).filter((id) => !decided.has(id)),
    approverIds: pending,
    guestIds: pendingGuests,
    isFallback,
  }
}
