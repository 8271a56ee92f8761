import type { Clock } from '../../../../core/clock.ts'
import type { Switches } from '../../../../core/ports.ts'
import type { Provided } from '../../../../core/provided.ts'
import type { Turn } from '../../../../core/turn.ts'
import type { LoggedCall } from '../../../../platforms/http/platform-http.ts'
import type { PublishPart, PublishState, RemotePost } from '../../../../platforms/publishing.ts'
import { postingAccounts } from '../../../social/accounts/index.ts'
import type { ApprovalGate } from '../approval/gate.ts'
import { act, canAct } from '../planning.ts'
import type { TargetAction, TargetStatus } from '../state.ts'
import { loadTarget, savePost, type LoadedPost } from '../store.ts'
import {
  postAttempts,
  postSegments,
  type SegmentRow,
  type SegmentStatus,
  type TargetProblem,
  type TargetRow,
} from '../tables.ts'
import { freeze, isPrepared } from './freeze.ts'
import { holdReason } from './hold.ts'
import { publishTarget } from './jobs.ts'
import type { LeaseTimes } from './lease.ts'
import type { PublicationPace } from './pace.ts'
import { PROBLEMS } from './problems.ts'
import { HOLD_MS } from './retry-policy.ts'

export interface ClaimInput {
  readonly targetId: string
  readonly plan: number
  readonly attemptId: string
}

/** A segment as a publisher works on it. */
export interface ClaimedSegment {
  readonly id: string
  readonly status: SegmentStatus
  readonly part: PublishPart
  readonly state: PublishState | null
  /** When the call that publishes was first made, and until when the platform can have received it. */
  readonly calledAt: number | null
  readonly sentBy: number | null
  readonly remote: RemotePost | null
}

/** What an attempt has to do, or null if there is nothing to do for it. */
export type Claim = {
  readonly targetId: string
  readonly workspaceId: string
  readonly accountId: string
  readonly platform: string
  readonly attemptCount: number
  /** When it is too late to start; milliseconds since the epoch. */
  readonly startBy: number
  /** Whether the outcome of an earlier call is unknown to the user as well. */
  readonly isCheck: boolean
  /** Why nothing can be published now. The outcome of an earlier call can be checked. */
  readonly held: TargetProblem | null
  readonly segments: readonly ClaimedSegment[]
} | null

/** How an attempt has ended. */
export type Outcome =
  | { readonly kind: 'published' }
  /** Try again at `at`, unless that is too late. */
  | { readonly kind: 'waiting'; readonly at: number; readonly problem: TargetProblem }
  | { readonly kind: 'failed'; readonly problem: TargetProblem }
  /** Check again at `at`; null if only the user can decide. */
  | { readonly kind: 'unconfirmed'; readonly at: number | null; readonly problem: TargetProblem }

export interface SettleInput {
  readonly targetId: string
  readonly attemptId: string
  readonly outcome: Outcome
  readonly calls: readonly LoggedCall[]
}

interface DeskNeeds {
  readonly clock: Clock
  readonly switches: Pick<Switches, 'isOn'>
  readonly times: LeaseTimes
  readonly approvals: Provided<ApprovalGate>
  readonly pace: PublicationPace
}

/** Gives targets to publishers and takes back their outcomes, in turns. */
export class PublicationDesk {
  readonly #clock: Clock
  readonly #switches: Pick<Switches, 'isOn'>
  readonly #times: LeaseTimes
  readonly #approvals: Provided<ApprovalGate>
  readonly #pace: PublicationPace

  constructor({ approvals, clock, pace, switches, times }: DeskNeeds) {
    this.#clock = clock
    this.#switches = switches
    this.#times = times
    this.#approvals = approvals
    this.#pace = pace
  }

  /** Takes a due target for an attempt, or ends it if it is too late. */
  async claim(turn: Turn, { attemptId, plan, targetId }: ClaimInput): Promise<Claim> {
    const now = this.#clock.now()
    // Locked before it is read: an attempt whose lease ends just now either has extended it already, or is fenced.
    await turn.sql.rows('select 1 from post_targets where id = $1 for update', [targetId])
    const found = await loadTarget(turn.sql, targetId)
    if (found === undefined || found.post.deletedAt !== null) return null
    const { target } = found
    const isChecked = target.status === 'unconfirmed'
    if (target.plan !== plan || !(isChecked || canAct(target, 'claim'))) return null
    // Another publisher is at it. The watchdog looks again when its lease has ended. A preparation gives way.
    const isOwned = target.attemptId !== null && Date.parse(target.leaseUntil ?? '') > now
    if (isOwned && target.status !== 'scheduled') return null
    const dueAt = Date.parse(target.nextAttemptAt ?? target.scheduledAt ?? '')
    if (dueAt > now) return null
    const segments = await this.#afterTakeover(turn, target)
    const hasCalled = isCalling(segments)
    const isStarted = hasCalled || segments.some(({ status }) => status === 'published')
    const isComplete = segments.length > 0 && segments.every(({ status }) => status === 'published')
    const startBy = Date.parse(target.startBy ?? '')
    if (!hasCalled && !isComplete && now > startBy) {
      const action = isStarted ? 'publish_part' : 'miss'
      await this.#write(turn, found, {
        action,
        problem: PROBLEMS.late(found.post.lateMinutes, target.problem),
        segments,
      })
      return null
    }
    const accounts = await postingAccounts(turn.sql, turn.workspaceId, [target.accountId])
    const why = holdReason(this.#switches, accounts.get(target.accountId))
    const held = why === undefined ? null : PROBLEMS.held(why)
    // The outcome of a call is checked nevertheless.
    if (held !== null && !hasCalled && !isComplete) {
      await this.#hold(turn, found, held)
      return null
    }
    if (!isChecked && !isStarted) {
      const reopened = await this.#approvals.get().refused(turn, found, targetId)
      if (reopened !== undefined) {
        // What was prepared of another content is no longer valid.
        await postSegments.delete(turn.sql, { targetId, status: 'pending' })
        await savePost(turn, found, reopened)
        return null
      }
    }
    if (await this.#isPaced(turn, found)) return null
    const ready = isStarted ? segments : await this.#ready(turn, found, segments)
    const claimed: TargetRow = {
      ...(isChecked ? target : act(target, 'claim')),
      attemptId,
      leaseUntil: new Date(now + this.#times.leaseMs).toISOString(),
      attemptCount: target.attemptCount + 1,
      nextAttemptAt: null,
      publishedVersion: isStarted ? target.publishedVersion : found.post.version,
      updatedAt: new Date(now).toISOString(),
    }
    turn.insert(postAttempts, {
      id: attemptId,
      workspaceId: turn.workspaceId,
      targetId,
      kind: isChecked ? 'check' : 'publish',
      number: claimed.attemptCount,
      startedAt: new Date(now).toISOString(),
      endedAt: null,
      outcome: null,
      problem: null,
      calls: [],
    })
    await this.#save(turn, found, claimed)
    return {
      targetId,
      workspaceId: turn.workspaceId,
      accountId: target.accountId,
      platform: target.platform,
      attemptCount: claimed.attemptCount,
      startBy,
      isCheck: isChecked,
      held,
      segments: ready.map(({ calledAt, id, part, remote, sentBy, state, status }) => {
        return { id, part, remote, state, status, calledAt: timeOf(calledAt), sentBy: timeOf(sentBy) }
      }),
    }
  }

  /**
   * The segments of a target that an attempt takes over. An attempt that was lost while it made its call could make it
   * until its lease ended.
   */
  async #afterTakeover(turn: Turn, { attemptId, id: targetId, leaseUntil }: TargetRow): Promise<readonly SegmentRow[]> {
    const segments = await postSegments.find(turn.sql, { targetId }, { orderBy: ['position asc'] })
    if (attemptId === null || leaseUntil === null) return segments
    return Promise.all(
      segments.map(async (segment) => {
        if (segment.status !== 'calling' || (timeOf(segment.sentBy) ?? 0) >= Date.parse(leaseUntil)) return segment
        await postSegments.update(turn.sql, { id: segment.id }, { sentBy: leaseUntil })
        return { ...segment, sentBy: leaseUntil }
      }),
    )
  }

  /** Records the outcome of an attempt. The outcome of an attempt that was replaced counts only as a record. */
  async settle(turn: Turn, { attemptId, calls, outcome, targetId }: SettleInput): Promise<void> {
    const now = this.#clock.now()
    const endedAt = new Date(now).toISOString()
    const problem = 'problem' in outcome ? outcome.problem : null
    const found = await loadTarget(turn.sql, targetId)
    const isOurs = found?.target.attemptId === attemptId
    const end = { endedAt, problem, calls }
    if (found === undefined || !isOurs) {
      await postAttempts.update(turn.sql, { id: attemptId }, end)
      return
    }
    const status = await this.#settled(turn, found, outcome)
    await postAttempts.update(turn.sql, { id: attemptId }, { ...end, outcome: status })
  }

  /** Adds a job for a target that is due and makes no progress. */
  async resume(turn: Turn, targetId: string): Promise<void> {
    const found = await loadTarget(turn.sql, targetId)
    if (found === undefined) return
    const { target } = found
    if (!['scheduled', 'publishing', 'unconfirmed'].includes(target.status)) return
    const plan = target.plan + 1
    const runAt = new Date(
      Math.max(this.#clock.now(), Date.parse(target.nextAttemptAt ?? target.scheduledAt ?? '') || 0),
    )
    turn.job(publishTarget, { targetId, plan }, { runAt })
    await this.#save(turn, found, { ...target, plan })
  }

  async #settled(turn: Turn, found: LoadedPost & { target: TargetRow }, outcome: Outcome): Promise<TargetStatus> {
    const { post, target } = found
    const segments = await postSegments.find(turn.sql, { targetId: target.id }, { orderBy: ['position asc'] })
    const isStarted = segments.some(({ status }) => status === 'published')
    switch (outcome.kind) {
      case 'published':
        return this.#write(turn, found, { action: 'publish', problem: null, segments })
      case 'failed': {
        // An earlier call may have published it.
        if (isCalling(segments)) return this.#settled(turn, found, { ...outcome, kind: 'unconfirmed', at: null })
        const action = isStarted ? 'publish_part' : 'fail'
        return this.#write(turn, found, { action, problem: outcome.problem, segments })
      }
      case 'waiting': {
        if (outcome.at > Date.parse(target.startBy ?? '')) {
          if (isCalling(segments)) {
            return this.#settled(turn, found, { ...outcome, kind: 'unconfirmed' })
          }
          const action = isStarted ? 'publish_part' : 'miss'
          return this.#write(turn, found, {
            action,
            problem: PROBLEMS.late(post.lateMinutes, outcome.problem),
            segments,
          })
        }
        const action = target.status === 'unconfirmed' ? 'retry' : 'claim'
        return this.#write(turn, found, { action, problem: outcome.problem, at: outcome.at, segments })
      }
      default: {
        const action = target.status === 'unconfirmed' ? undefined : 'lose'
        return this.#write(turn, found, { action, problem: outcome.problem, at: outcome.at ?? undefined, segments })
      }
    }
  }

  /** Ends an attempt with a move of the target, and adds a job if there is more to do. */
  async #write(turn: Turn, found: LoadedPost & { target: TargetRow }, ending: Ending) {
    const { action, at, problem, segments = [] } = ending
    const { target } = found
    const now = new Date(this.#clock.now()).toISOString()
    const first = segments[0]
    const moved = action === undefined ? target : act(target, action)
    const plan = target.plan + 1
    const next: TargetRow = {
      ...moved,
      problem,
      plan,
      attemptId: null,
      leaseUntil: null,
      nextAttemptAt: at === undefined ? null : new Date(at).toISOString(),
      remoteId: first?.remote?.id ?? target.remoteId,
      url: first?.remote?.url ?? target.url,
      publishedAt: first?.publishedAt ?? target.publishedAt,
      updatedAt: now,
    }
    if (at !== undefined) turn.job(publishTarget, { targetId: target.id, plan }, { runAt: new Date(at) })
    await this.#save(turn, found, next)
    return next.status
  }

  /** Leaves a target in the schedule while something holds it, and says so. */
  async #hold(turn: Turn, found: LoadedPost & { target: TargetRow }, problem: TargetProblem): Promise<void> {
    const { target } = found
    const at = this.#clock.now() + HOLD_MS
    const plan = target.plan + 1
    turn.job(publishTarget, { targetId: target.id, plan }, { runAt: new Date(at) })
    await this.#save(turn, found, {
      ...target,
      plan,
      problem,
      nextAttemptAt: new Date(at).toISOString(),
    })
  }

  /** Gives a target that is late a place after the others of its account and platform, unless it is its turn. */
  async #isPaced(turn: Turn, found: LoadedPost & { target: TargetRow }): Promise<boolean> {
    const { target } = found
    if (target.status !== 'scheduled' || target.problem?.code === PROBLEMS.paced.code) return false
    const { accountId, platform } = target
    const at = this.#pace.placeOf({ accountId, platform, dueAt: Date.parse(target.scheduledAt ?? '') })
    if (at <= this.#clock.now()) return false
    const plan = target.plan + 1
    const nextAttemptAt = new Date(at)
    turn.job(publishTarget, { targetId: target.id, plan }, { runAt: nextAttemptAt })
    await this.#save(turn, found, {
      ...target,
      plan,
      problem: PROBLEMS.paced,
      nextAttemptAt: nextAttemptAt.toISOString(),
    })
    return true
  }

  /** The segments of an attempt: those of an earlier one or of a preparation, or new ones. */
  async #ready(
    turn: Turn,
    found: LoadedPost & { target: TargetRow },
    segments: readonly SegmentRow[],
  ): Promise<readonly SegmentRow[]> {
    const { status } = found.target
    const now = this.#clock.now()
    if (segments.length > 0 && (status !== 'scheduled' || isPrepared(found.target, segments, now))) return segments
    await postSegments.delete(turn.sql, { targetId: found.target.id })
    return freeze(turn, found, { now, createdAt: now })
  }

  #save(turn: Turn, found: LoadedPost & { target: TargetRow }, target: TargetRow) {
    const targets = found.targets.map((one) => (one.id === target.id ? target : one))
    return savePost(turn, found, { post: found.post, targets })
  }
}

/** Whether the outcome of a call is unknown. */
function isCalling(segments: readonly SegmentRow[]): boolean {
  return segments.some(({ status }) => status === 'calling')
}

function timeOf(at: string | null): number | null {
  return at === null ? null : Date.parse(at)
}

interface Ending {
  /** Undefined if the state stays. */
  readonly action: TargetAction | undefined
  readonly problem: TargetProblem | null
  /** When the next attempt or check begins; milliseconds since the epoch. */
  readonly at?: number | undefined
  readonly segments?: readonly SegmentRow[]
}
