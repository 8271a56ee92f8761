import { SECOND, type Clock } from '../../../../core/clock.ts'
import type { Switches } from '../../../../core/ports.ts'
import type { Provided } from '../../../../core/provided.ts'
import type { Turn } from '../../../../core/turn.ts'
import type { LoggedCall } from '../../../../platforms/http/platform-http.ts'
import { postingAccounts } from '../../../social/accounts/index.ts'
import {
  type ApprovalGate,
  loadTarget,
  savePost,
  type LoadedPost,
  postAttempts,
  postSegments,
  postTargets,
  type SegmentRow,
  type TargetProblem,
  type TargetRow,
  PROBLEMS,
} from '../../posts/index.ts'
import type { ClaimedSegment } from '../claims/claims.ts'
import { filesOf, freeze, isPrepared } from '../claims/freeze.ts'
import { holdReason } from '../claims/hold.ts'
import { LEAD_MS as PUBLICATION_LEAD_MS } from '../../planning/index.ts'
import type { LeaseTimes } from '../claims/lease.ts'

/** How long before the time of a post its preparation begins. */
export const LEAD_MS = 600 * SECOND
/** How long before that time the preparation ends. Publication then claims the target and continues from there. */
export const STOP_MS = PUBLICATION_LEAD_MS + 5 * SECOND

export interface PreparationClaimInput {
  readonly targetId: string
  readonly attemptId: string
}

/** What a preparation has to do, or null if there is nothing to do. */
export type PreparationClaim = {
  readonly accountId: string
  /** Milliseconds since the epoch. */
  readonly dueAt: number
  /** The parts that no call has been made for. */
  readonly segments: readonly ClaimedSegment[]
} | null

export interface PreparationSettleInput {
  readonly targetId: string
  readonly attemptId: string
  /** Why it failed; null if it did not. */
  readonly problem: TargetProblem | null
  /** Whether it is not tried again before the time of the post. */
  readonly isEnded: boolean
  readonly calls: readonly LoggedCall[]
}

interface PreparationClaimsNeeds {
  readonly clock: Clock
  readonly switches: Pick<Switches, 'isOn'>
  readonly times: LeaseTimes
  readonly approvals: Provided<ApprovalGate>
}

/** Gives scheduled targets to preparations and takes back their outcomes, in turns. The target stays scheduled. */
export class PreparationClaims {
  readonly #needs: PreparationClaimsNeeds

  constructor(needs: PreparationClaimsNeeds) {
    this.#needs = needs
  }

  /** Takes a target that is due soon. Publication, an edit and a cancellation take it away from the preparation. */
  async claim(turn: Turn, { attemptId, targetId }: PreparationClaimInput): Promise<PreparationClaim> {
    const { approvals, clock, switches, times } = this.#needs
    const now = clock.now()
    await postTargets.find(turn.sql, { id: targetId }, { columns: ['id'], lock: 'for update' })
    const found = await loadTarget(turn.sql, targetId)
    if (found === undefined || found.post.deletedAt !== null || found.target.status !== 'scheduled') return null
    const { target } = found
    const dueAt = Date.parse(target.nextAttemptAt ?? target.scheduledAt ?? '')
    if (dueAt - now > LEAD_MS || dueAt - now <= STOP_MS) return null
    if (target.attemptId !== null && Date.parse(target.leaseUntil ?? '') > now) return null
    const accounts = await postingAccounts(turn.sql, turn.workspaceId, [target.accountId])
    const why = holdReason(switches, accounts.get(target.accountId))
    if (why !== undefined) {
      await this.#warn(turn, found, PROBLEMS.held(why))
      return null
    }
    const reopened = await approvals.get().refused(turn, found, targetId)
    if (reopened !== undefined) {
      // Nothing that is not approved is uploaded.
      await postSegments.delete(turn.sql, { targetId, status: 'pending' })
      await savePost(turn, found, reopened)
      return null
    }
    const known = await postSegments.find(turn.sql, { targetId }, { orderBy: ['position asc'] })
    const isUsable = isPrepared(target, known, now)
    if (!isUsable) await postSegments.delete(turn.sql, { targetId })
    const segments = isUsable ? known : await this.#frozen(turn, found, now)
    const [first] = segments
    if (first === undefined || first.status !== 'pending' || first.calledAt !== null) return null
    const leaseUntil = new Date(now + times.leaseMs).toISOString()
    await postTargets.update(turn.sql, { id: targetId }, { attemptId, leaseUntil })
    turn.insert(postAttempts, {
      id: attemptId,
      workspaceId: turn.workspaceId,
      targetId,
      kind: 'prepare',
      number: target.attemptCount,
      startedAt: new Date(now).toISOString(),
      endedAt: null,
      outcome: null,
      problem: null,
      calls: [],
    })
    const untouched = segments.filter(({ calledAt, status }) => status === 'pending' && calledAt === null)
    return {
      accountId: target.accountId,
      dueAt,
      segments: untouched.map(({ id, part, state, status }) => {
        return { id, part, state, status, calledAt: null, sentBy: null, remote: null }
      }),
    }
  }

  async #frozen(turn: Turn, found: LoadedPost & { target: TargetRow }, now: number): Promise<readonly SegmentRow[]> {
    const files = await filesOf(turn, [found])
    const rows = freeze(found, { now, createdAt: Date.parse(found.target.scheduledAt ?? ''), files })
    for (const row of rows) turn.insert(postSegments, row)
    return rows
  }

  /** Records the outcome of a preparation. A failure is shown at the target before its time. */
  async settle(turn: Turn, { attemptId, calls, isEnded, problem, targetId }: PreparationSettleInput): Promise<void> {
    const endedAt = new Date(this.#needs.clock.now()).toISOString()
    const found = await loadTarget(turn.sql, targetId)
    const isOurs = found?.target.attemptId === attemptId
    const outcome = isOurs ? found.target.status : null
    await postAttempts.update(turn.sql, { id: attemptId }, { endedAt, problem, calls, outcome })
    if (!isOurs) return
    const { target } = found
    if (isEnded) await postSegments.update(turn.sql, { targetId }, { preparedFor: target.scheduledAt })
    await postTargets.update(turn.sql, { id: targetId }, { attemptId: null, leaseUntil: null })
    const released = { ...found, target: { ...target, attemptId: null, leaseUntil: null } }
    await this.#warn(turn, released, problem === null ? null : PROBLEMS.unprepared(problem))
  }

  /** Shows a warning, or takes back an earlier one. Other reasons, such as those of a publication, stay. */
  async #warn(turn: Turn, found: LoadedPost & { target: TargetRow }, problem: TargetProblem | null): Promise<void> {
    const { target } = found
    const isWarning = target.problem === null || WARNINGS.includes(target.problem.code)
    if (!isWarning || JSON.stringify(target.problem) === JSON.stringify(problem)) return
    const next = { ...target, problem, updatedAt: new Date(this.#needs.clock.now()).toISOString() }
    const before = { ...found, targets: found.targets.map((one) => (one.id === target.id ? target : one)) }
    const targets = before.targets.map((one) => (one.id === target.id ? next : one))
    await savePost(turn, before, { post: found.post, targets })
  }
}

const WARNINGS: readonly string[] = ['not_prepared', 'held']
