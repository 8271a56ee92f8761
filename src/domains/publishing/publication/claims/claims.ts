import type { Clock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Switches } from '../../../../core/ports.ts'
import type { Provided } from '../../../../core/provided.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { PublishPart, PublishState, RemotePost } from '../../../../platforms/publishing.ts'
import type { PostFile } from '../../../media/assets/index.ts'
import { postingAccounts, type PostingAccount } from '../../../social/accounts/index.ts'
import {
  type ApprovalGate,
  act,
  canAct,
  loadPosts,
  savePost,
  type LoadedPost,
  postAttempts,
  postSegments,
  type SegmentRow,
  type SegmentStatus,
  type TargetProblem,
  type TargetRow,
  PROBLEMS,
} from '../../posts/index.ts'
import { notifyOutcomes } from '../outcomes/notices.ts'
import { lockDue, type DueTarget } from './due.ts'
import { filesOf, freeze, isPrepared } from './freeze.ts'
import { holdReason } from './hold.ts'
import type { LeaseTimes } from './lease.ts'
import type { PublicationPace } from './pace.ts'
import { HOLD_MS } from '../attempts/retry-policy.ts'
import { isCalling, timeOf } from './segments.ts'
import { tryAgainAt } from '../../planning/index.ts'

export interface ClaimInput {
  /** How many targets are looked at, the most urgent first. */
  readonly most: number
  /** The only target to look at. */
  readonly targetId?: string
}

export interface Claims {
  readonly claims: readonly Claim[]
  /** Whether more targets may be due. */
  readonly isMore: boolean
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

/** What an attempt has to do. Times are milliseconds since the epoch. */
export interface Claim {
  readonly targetId: string
  readonly workspaceId: string
  readonly attemptId: string
  readonly accountId: string
  readonly platform: string
  readonly attemptCount: number
  /** Before this time, nothing is done that others could see. */
  readonly dueAt: number
  /** When it is too late to start. */
  readonly startBy: number
  /** Whether the outcome of an earlier call is unknown to the user as well. */
  readonly isCheck: boolean
  /** Why nothing can be published now. The outcome of an earlier call can be checked. */
  readonly held: TargetProblem | null
  readonly segments: readonly ClaimedSegment[]
}

interface ClaimNeeds {
  readonly clock: Clock
  readonly switches: Pick<Switches, 'isOn'>
  readonly times: LeaseTimes
  readonly approvals: Provided<ApprovalGate>
  readonly pace: PublicationPace
}

/** Gives targets to publishers, in turns: those that are due, and those that are due in a moment. */
export class PublicationClaims {
  readonly #needs: ClaimNeeds

  constructor(needs: ClaimNeeds) {
    this.#needs = needs
  }

  /** Takes targets for attempts, in the order of their times, and ends those that are too late. */
  async claim(turn: Turn, { most, targetId }: ClaimInput): Promise<Claims> {
    const now = this.#needs.clock.now()
    const due = await lockDue(turn.sql, { workspaceId: turn.workspaceId, now, most, targetId })
    if (due.length === 0) return { claims: [], isMore: false }
    const round = await ClaimRound.read(turn, this.#needs, due, now)
    const claims: Claim[] = []
    for (const one of due) {
      const claim = await round.claim(one)
      if (claim !== undefined) claims.push(claim)
    }
    await round.save()
    return { claims, isMore: due.length === most }
  }
}

/** A target with its post, as it is so far in a turn. */
type Found = LoadedPost & { readonly target: TargetRow }

/** One turn of claims: what it has read, and what it writes at its end. Its statements are for all targets. */
class ClaimRound {
  readonly #turn: Turn
  readonly #needs: ClaimNeeds
  readonly #now: number
  readonly #before: ReadonlyMap<string, LoadedPost>
  readonly #after: Map<string, LoadedPost>
  readonly #segments: ReadonlyMap<string, readonly SegmentRow[]>
  readonly #accounts: ReadonlyMap<string, PostingAccount>
  readonly #files: ReadonlyMap<string, PostFile>
  /** Targets whose segments are replaced, or of which those that were not sent are dropped. */
  readonly #replaced: string[] = []
  readonly #dropped: string[] = []
  readonly #frozen: (() => void)[] = []

  private constructor(
    turn: Turn,
    needs: ClaimNeeds,
    now: number,
    read: {
      readonly posts: readonly LoadedPost[]
      readonly segments: readonly SegmentRow[]
      readonly accounts: ReadonlyMap<string, PostingAccount>
      readonly files: ReadonlyMap<string, PostFile>
    },
  ) {
    this.#turn = turn
    this.#needs = needs
    this.#now = now
    this.#before = new Map(read.posts.map((loaded) => [loaded.post.id, loaded]))
    this.#after = new Map(this.#before)
    this.#segments = Map.groupBy(read.segments, ({ targetId }) => targetId)
    this.#accounts = read.accounts
    this.#files = read.files
  }

  static async read(turn: Turn, needs: ClaimNeeds, due: readonly DueTarget[], now: number): Promise<ClaimRound> {
    const targetIds = due.map(({ id }) => id)
    const [posts, segments] = await Promise.all([
      loadPosts(turn.sql, { id: anyOf([...new Set(due.map(({ postId }) => postId))]) }),
      postSegments.find(turn.sql, { targetId: anyOf(targetIds) }, { orderBy: ['position asc'] }),
    ])
    const accountIds = new Set(posts.flatMap(({ targets }) => targets.map(({ accountId }) => accountId)))
    const [accounts, files] = await Promise.all([
      postingAccounts(turn.sql, turn.workspaceId, [...accountIds]),
      filesOf(turn, posts),
    ])
    return new ClaimRound(turn, needs, now, { posts, segments, accounts, files })
  }

  /** Takes one target. @returns undefined if nothing is to be done for it now */
  async claim({ id: targetId, postId }: DueTarget): Promise<Claim | undefined> {
    const loaded = this.#after.get(postId)
    const target = loaded?.targets.find(({ id }) => id === targetId)
    if (loaded === undefined || target === undefined) return undefined
    const found = { ...loaded, target }
    const isCheck = target.status === 'unconfirmed'
    // The approval of another target of the post may have been opened again in this turn.
    if (!isCheck && !canAct(target, 'claim')) return undefined
    const segments = await this.#afterTakeover(target)
    const hasCalled = isCalling(segments)
    const isStarted = hasCalled || segments.some(({ status }) => status === 'published')
    const isComplete = segments.length > 0 && segments.every(({ status }) => status === 'published')
    const startBy = Date.parse(target.startBy ?? '')
    if (!hasCalled && !isComplete && this.#now > startBy) {
      this.#end(found, segments, isStarted ? 'publish_part' : 'miss')
      return undefined
    }
    const why = holdReason(this.#needs.switches, this.#accounts.get(target.accountId))
    const held = why === undefined ? null : PROBLEMS.held(why)
    // The outcome of a call is checked nevertheless.
    if (held !== null && !hasCalled && !isComplete) {
      this.#postpone(found, this.#now + HOLD_MS, held)
      return undefined
    }
    if (!isCheck && !isStarted && (await this.#isReopened(found))) return undefined
    if (this.#isPaced(found)) return undefined
    const dueAt = Math.max(this.#now, Date.parse(target.nextAttemptAt ?? target.scheduledAt ?? ''))
    const attemptId = uuidv7(this.#now)
    const claimed = this.#claimed(found, attemptId, isStarted ? target.publishedVersion : found.post.version)
    const ready = isStarted ? segments : this.#ready(found, segments, dueAt)
    return {
      targetId,
      workspaceId: this.#turn.workspaceId,
      attemptId,
      accountId: target.accountId,
      platform: target.platform,
      attemptCount: claimed.attemptCount,
      dueAt,
      startBy,
      isCheck,
      held,
      segments: ready.map(({ calledAt, id, part, remote, sentBy, state, status }) => {
        return { id, part, remote, state, status, calledAt: timeOf(calledAt), sentBy: timeOf(sentBy) }
      }),
    }
  }

  /** Writes everything. */
  async save(): Promise<void> {
    const turn = this.#turn
    await Promise.all([
      this.#replaced.length > 0 && postSegments.delete(turn.sql, { targetId: anyOf(this.#replaced) }),
      // What was prepared of another content is no longer valid.
      this.#dropped.length > 0 && postSegments.delete(turn.sql, { targetId: anyOf(this.#dropped), status: 'pending' }),
    ])
    for (const insert of this.#frozen) insert()
    await Promise.all(
      [...this.#before].map(async ([id, before]) => {
        const after = this.#after.get(id)
        if (after === undefined || after === before) return
        notifyOutcomes(turn, before, after)
        await savePost(turn, before, after)
      }),
    )
  }

  #claimed({ target, ...loaded }: Found, attemptId: string, publishedVersion: number | null): TargetRow {
    const turn = this.#turn
    const isCheck = target.status === 'unconfirmed'
    const at = new Date(this.#now).toISOString()
    const claimed: TargetRow = {
      ...(isCheck ? target : act(target, 'claim')),
      attemptId,
      leaseUntil: new Date(this.#now + this.#needs.times.leaseMs).toISOString(),
      attemptCount: target.attemptCount + 1,
      nextAttemptAt: null,
      publishedVersion,
      updatedAt: at,
    }
    turn.insert(postAttempts, {
      id: attemptId,
      workspaceId: turn.workspaceId,
      targetId: target.id,
      kind: isCheck ? 'check' : 'publish',
      number: claimed.attemptCount,
      startedAt: at,
      endedAt: null,
      outcome: null,
      problem: null,
      calls: [],
    })
    this.#change(loaded, claimed)
    return claimed
  }

  /**
   * The segments of a target that an attempt takes over. An attempt that was lost while it made its call could make it
   * until its lease ended.
   */
  async #afterTakeover({ attemptId, id, leaseUntil }: TargetRow): Promise<readonly SegmentRow[]> {
    const segments = this.#segments.get(id) ?? []
    if (attemptId === null || leaseUntil === null) return segments
    return Promise.all(
      segments.map(async (segment) => {
        if (segment.status !== 'calling' || (timeOf(segment.sentBy) ?? 0) >= Date.parse(leaseUntil)) return segment
        await postSegments.update(this.#turn.sql, { id: segment.id }, { sentBy: leaseUntil })
        return { ...segment, sentBy: leaseUntil }
      }),
    )
  }

  /** The segments of an attempt: those of an earlier one or of a preparation, or new ones. */
  #ready(found: Found, segments: readonly SegmentRow[], createdAt: number): readonly SegmentRow[] {
    const { target } = found
    if (segments.length > 0 && (target.status !== 'scheduled' || isPrepared(target, segments, this.#now))) {
      return segments
    }
    if (segments.length > 0) this.#replaced.push(target.id)
    const rows = freeze(found, { createdAt, files: this.#files, now: this.#now })
    this.#frozen.push(() => {
      for (const row of rows) this.#turn.insert(postSegments, row)
    })
    return rows
  }

  /** It is too late to start. */
  #end({ post, target, targets }: Found, segments: readonly SegmentRow[], action: 'publish_part' | 'miss'): void {
    const [first] = segments
    this.#change(
      { post, targets },
      {
        ...act(target, action),
        problem: PROBLEMS.late(post.lateMinutes, target.problem),
        attemptId: null,
        leaseUntil: null,
        nextAttemptAt: null,
        remoteId: first?.remote?.id ?? target.remoteId,
        url: first?.remote?.url ?? target.url,
        publishedAt: first?.publishedAt ?? target.publishedAt,
        updatedAt: new Date(this.#now).toISOString(),
      },
    )
  }

  /** Leaves a target where it is until a time, and says why. */
  #postpone({ target, ...loaded }: Found, at: number, problem: TargetProblem): void {
    tryAgainAt(this.#turn, at)
    this.#change(loaded, { ...target, problem, nextAttemptAt: new Date(at).toISOString() })
  }

  /** Puts a post back into review if its content is not the approved one. */
  async #isReopened(found: Found): Promise<boolean> {
    const reopened = await this.#needs.approvals.get().refused(this.#turn, found, found.target.id)
    if (reopened === undefined) return false
    this.#dropped.push(found.target.id)
    this.#after.set(found.post.id, reopened)
    return true
  }

  /** Gives a target that is late a place after the others of its account and platform, unless it is its turn. */
  #isPaced(found: Found): boolean {
    const { accountId, platform, problem, scheduledAt, status } = found.target
    if (status !== 'scheduled' || problem?.code === PROBLEMS.paced.code) return false
    const at = this.#needs.pace.placeOf({ accountId, platform, dueAt: Date.parse(scheduledAt ?? '') })
    if (at <= this.#needs.clock.now()) return false
    this.#postpone(found, at, PROBLEMS.paced)
    return true
  }

  #change({ post, targets }: LoadedPost, target: TargetRow): void {
    this.#after.set(post.id, { post, targets: targets.map((one) => (one.id === target.id ? target : one)) })
  }
}
