import { DAY, MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { PlatformDirectory } from '../../../../platforms/directory.ts'
import type { LoggedCall } from '../../../../platforms/http/platform-http.ts'
import type { PublishPart, RemotePost } from '../../../../platforms/publishing.ts'
import { postFiles } from '../../../media/assets/index.ts'
import {
  allRefs,
  contentFor,
  act,
  canAct,
  loadTarget,
  savePost,
  type LoadedPost,
  postAttempts,
  postSegments,
  postTargets,
  type SegmentRow,
  type TargetProblem,
  type TargetRow,
} from '../../posts/index.ts'
import { partsOf } from '../../publication/index.ts'
import { deleteWhenGone } from '../removal/deleting.ts'
import { differencesOf, type Differences } from './differences.ts'
import { changeRemote } from '../jobs.ts'
import { REASONS } from './reasons.ts'
import { remoteChanges, type RemoteChangeKind, type RemoteChangeRow } from '../tables.ts'

/** How long an attempt owns a change. */
export const REMOTE_LEASE_MS = 2 * MINUTE
/** How long an edit or a deletion is retried. */
const GIVE_UP_MS = DAY
/** How often a deletion looks whether a publication has ended. */
const PUBLICATION_CHECK_MS = 5 * SECOND

export interface RemoteClaimInput {
  readonly targetId: string
  readonly plan: number
  readonly attemptId: string
}

/** What an attempt has to do at the platform, or null if there is nothing to do for it. */
export type RemoteClaim = {
  readonly accountId: string
  readonly attemptCount: number
  /** The first part of the thread. */
  readonly root: RemotePost | null
  readonly edits: readonly { readonly segmentId: string; readonly remote: RemotePost; readonly part: PublishPart }[]
  /** The last part first, so that no reply is left without the post above it. */
  readonly removals: readonly { readonly segmentId: string; readonly remote: RemotePost }[]
} | null

/** A segment that was edited, or deleted if `part` is null. */
export interface ChangedSegment {
  readonly segmentId: string
  readonly remote: RemotePost
  readonly part: PublishPart | null
}

export type RemoteOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'waiting'; readonly at: number; readonly problem: TargetProblem }
  | { readonly kind: 'failed'; readonly problem: TargetProblem }

export interface RemoteSettleInput {
  readonly targetId: string
  readonly attemptId: string
  readonly done: readonly ChangedSegment[]
  readonly outcome: RemoteOutcome
  readonly calls: readonly LoggedCall[]
}

type Found = LoadedPost & { readonly target: TargetRow }

/** Plans edits and deletions of what is published, gives them to workers and takes back the outcomes, in turns. */
export class RemoteChanges {
  readonly #clock: Clock
  readonly #directory: PlatformDirectory

  constructor(clock: Clock, directory: PlatformDirectory) {
    this.#clock = clock
    this.#directory = directory
  }

  /**
   * Plans the edits that follow from a change of a post.
   * @returns its targets, with what happens to those that are published
   */
  async edited(turn: Turn, { post, targets }: LoadedPost): Promise<readonly TargetRow[]> {
    const published = targets.filter((target) => isShown(target))
    if (published.length === 0) return targets
    const known = await this.changesOf(turn, { targets: published })
    const changed = new Map<string, TargetRow>()
    for (const target of published) {
      const change = known.get(target.id)
      if (change?.kind === 'remove') continue
      const { edits, impossible, unpublished } = await this.#differences(
        turn,
        { post, targets, target },
        change?.touched,
      )
      for (const { part, segmentId } of unpublished) {
        await postSegments.update(turn.sql, { id: segmentId }, { part, state: null })
      }
      const { canEdit, title } = this.platform(target)
      if (edits.length > 0 || change !== undefined) {
        await this.request(turn, target, 'edit', change)
        changed.set(target.id, { ...target, problem: REASONS.editing(title, impossible) })
      } else if (impossible.length > 0) {
        changed.set(target.id, { ...target, problem: REASONS.notEditable(title, canEdit ? impossible : []) })
      } else if (target.problem !== null && target.problem.code.startsWith('edit_')) {
        // The post says again what is published.
        changed.set(target.id, { ...target, problem: null })
      }
    }
    return targets.map((target) => changed.get(target.id) ?? target)
  }

  /** Adds a change, or replaces the one that waits. An attempt that runs ends first. */
  async request(turn: Turn, target: TargetRow, kind: RemoteChangeKind, known?: RemoteChangeRow): Promise<void> {
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const plan = (known?.plan ?? 0) + 1
    const giveUpAt = new Date(now + GIVE_UP_MS).toISOString()
    const planned = { kind, plan, giveUpAt, attemptCount: 0, updatedAt: at }
    if (known === undefined) {
      await remoteChanges.insert(turn.sql, {
        ...planned,
        targetId: target.id,
        workspaceId: turn.workspaceId,
        postId: target.postId,
        attemptId: null,
        leaseUntil: null,
        touched: [],
        createdAt: at,
      })
    } else {
      await remoteChanges.update(turn.sql, { targetId: target.id }, planned)
      // The attempt that runs adds a job when it ends.
      if (known.attemptId !== null && Date.parse(known.leaseUntil ?? '') > now)
        return this.#later(turn, { ...known, plan })
    }
    turn.job(changeRemote, { targetId: target.id, plan })
  }

  /** The changes that wait, by target. */
  async changesOf(turn: Turn, { targets }: Pick<LoadedPost, 'targets'>): Promise<ReadonlyMap<string, RemoteChangeRow>> {
    const rows = await remoteChanges.find(turn.sql, { targetId: anyOf(targets.map(({ id }) => id)) })
    return new Map(rows.map((row) => [row.targetId, row]))
  }

  /** Takes a change for an attempt, or ends it if there is nothing to do. */
  async claim(turn: Turn, { attemptId, plan, targetId }: RemoteClaimInput): Promise<RemoteClaim> {
    const now = this.#clock.now()
    const change = await remoteChanges.first(turn.sql, { targetId })
    if (change === undefined || change.plan !== plan) return null
    if (change.attemptId !== null && Date.parse(change.leaseUntil ?? '') > now) {
      await this.#later(turn, change)
      return null
    }
    const found = await loadTarget(turn.sql, targetId)
    if (found === undefined) return null
    if (change.kind === 'edit' && found.post.deletedAt !== null) {
      await remoteChanges.delete(turn.sql, { targetId })
      return null
    }
    if (change.kind === 'remove' && (await this.#awaitPublication(turn, found, change))) return null
    const segments = await segmentsOf(turn, targetId)
    const claim = await this.#work(turn, found, change, segments)
    if (claim.edits.length + claim.removals.length === 0) {
      await this.#end(turn, found, change, null)
      return null
    }
    await remoteChanges.update(
      turn.sql,
      { targetId },
      {
        attemptId,
        leaseUntil: new Date(now + REMOTE_LEASE_MS).toISOString(),
        attemptCount: change.attemptCount + 1,
        touched: [...new Set([...change.touched, ...claim.edits.map(({ segmentId }) => segmentId)])],
      },
    )
    turn.insert(postAttempts, {
      id: attemptId,
      workspaceId: turn.workspaceId,
      targetId,
      kind: change.kind,
      number: claim.attemptCount,
      startedAt: new Date(now).toISOString(),
      endedAt: null,
      outcome: null,
      problem: null,
      calls: [],
    })
    return claim
  }

  /** Records the outcome of an attempt, and adds a job if there is more to do. */
  async settle(turn: Turn, { attemptId, calls, done, outcome, targetId }: RemoteSettleInput): Promise<void> {
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    for (const { part, remote, segmentId } of done) {
      const changes = part === null ? { removedAt: at } : { part, remote }
      await postSegments.update(turn.sql, { id: segmentId }, { ...changes, updatedAt: at })
    }
    const problem = outcome.kind === 'done' ? null : outcome.problem
    const found = await loadTarget(turn.sql, targetId)
    const ended = { endedAt: at, problem, outcome: found?.target.status ?? null, calls: calls as never }
    await postAttempts.update(turn.sql, { id: attemptId }, ended)
    const change = await remoteChanges.first(turn.sql, { targetId })
    if (found === undefined || change?.attemptId !== attemptId) return
    const released = { attemptId: null, leaseUntil: null, plan: change.plan + 1, updatedAt: at }
    // A request that came during the attempt has set the count back.
    const isReplaced = change.attemptCount === 0
    const isLate = outcome.kind === 'waiting' && outcome.at > Date.parse(change.giveUpAt)
    if (isReplaced || (outcome.kind === 'waiting' && !isLate)) {
      const runAt = new Date(outcome.kind === 'waiting' && !isReplaced ? outcome.at : now)
      await remoteChanges.update(turn.sql, { targetId }, released)
      turn.job(changeRemote, { targetId, plan: released.plan }, { runAt })
      const { title } = this.platform(found.target)
      const why = change.kind === 'edit' ? REASONS.editing(title, [], problem) : REASONS.removing(title, problem)
      await this.#save(turn, found, { ...found.target, problem: why, updatedAt: at })
      return
    }
    await this.#end(turn, found, change, problem)
  }

  /** Ends a change: it is made, or given up for a problem. */
  async #end(turn: Turn, found: Found, change: RemoteChangeRow, problem: TargetProblem | null): Promise<void> {
    const { target } = found
    const at = new Date(this.#clock.now()).toISOString()
    const { canEdit, title } = this.platform(target)
    await remoteChanges.delete(turn.sql, { targetId: target.id })
    const [first] = await segmentsOf(turn, target.id)
    if (change.kind === 'edit') {
      const { impossible } = await this.#differences(turn, found)
      const left = impossible.length === 0 ? null : REASONS.notEditable(title, canEdit ? impossible : [])
      await this.#save(turn, found, {
        ...target,
        publishedVersion: problem === null ? found.post.version : target.publishedVersion,
        problem: problem === null ? left : REASONS.editFailed(title, problem),
        remoteId: first?.remote?.id ?? target.remoteId,
        url: first?.remote?.url ?? target.url,
        updatedAt: at,
      })
      return
    }
    const isRemoved = problem === null && target.remoteId !== null
    await this.#save(turn, found, {
      ...target,
      // What was never published keeps the reason for that.
      problem: problem !== null ? REASONS.removalFailed(title, problem) : isRemoved ? null : target.problem,
      remoteDeletedAt: isRemoved ? at : target.remoteDeletedAt,
      updatedAt: at,
    })
    await deleteWhenGone(turn, found.post.id, at)
  }

  /** @returns whether a deletion has to wait, because the target is being published */
  async #awaitPublication(turn: Turn, found: Found, change: RemoteChangeRow): Promise<boolean> {
    const { target } = found
    if (target.status !== 'publishing' && target.status !== 'unconfirmed') return false
    const segments = await segmentsOf(turn, target.id)
    const isCalled = segments.some(({ status }) => status === 'calling' || status === 'published')
    if (target.attemptId === null && !isCalled && canAct(target, 'cancel')) {
      const ended = { nextAttemptAt: null, problem: null, plan: target.plan + 1 }
      await this.#end(turn, { ...found, target: act(target, 'cancel', ended) }, change, null)
      return true
    }
    await this.#later(turn, change, this.#clock.now() + PUBLICATION_CHECK_MS)
    return true
  }

  /** Adds a job for when the lease of another attempt ends. */
  async #later(turn: Turn, change: RemoteChangeRow, at = Date.parse(change.leaseUntil ?? '')): Promise<void> {
    const plan = change.plan + 1
    await remoteChanges.update(turn.sql, { targetId: change.targetId }, { plan })
    turn.job(changeRemote, { targetId: change.targetId, plan }, { runAt: new Date(at) })
  }

  async #work(turn: Turn, found: Found, change: RemoteChangeRow, segments: readonly SegmentRow[]) {
    const remoteOf = new Map(segments.flatMap(({ id, remote }) => (remote === null ? [] : [[id, remote] as const])))
    const shown = segments.filter(({ removedAt }) => removedAt === null)
    const edits =
      change.kind === 'edit' && isShown(found.target)
        ? (await this.#differences(turn, found, change.touched)).edits.flatMap(({ part, segmentId }) => {
            const remote = remoteOf.get(segmentId)
            return remote === undefined ? [] : [{ segmentId, remote, part }]
          })
        : []
    const removals =
      change.kind === 'remove'
        ? shown.toReversed().flatMap(({ id, remote }) => (remote === null ? [] : [{ segmentId: id, remote }]))
        : []
    const root = segments[0]?.remote ?? null
    return { accountId: found.target.accountId, attemptCount: change.attemptCount + 1, root, edits, removals }
  }

  async #differences(turn: Turn, { post, target }: Found, touched: readonly string[] = []): Promise<Differences> {
    const segments = await segmentsOf(turn, target.id)
    const files = await postFiles(turn.sql, turn.workspaceId, allRefs(post.body, [target.override]))
    const parts = partsOf(contentFor(post.body, target.override, files))
    return differencesOf(segments, parts, this.platform(target).fields, touched)
  }

  /** What the platform of a target can do. */
  platform({ platform }: Pick<TargetRow, 'platform'>) {
    const found = this.#directory.find(platform)?.platform
    const canEdit = found?.publishing?.edit !== undefined
    const fields = canEdit ? (found.publishing?.edits ?? (['text'] as const)) : []
    return { title: found?.title ?? platform, canEdit, fields, canRemove: found?.publishing?.remove !== undefined }
  }

  async #save(turn: Turn, found: Found, target: TargetRow): Promise<void> {
    if (found.post.deletedAt !== null) {
      // Nobody sees the post any more, so its change is not announced.
      const { id, ...changes } = target
      await postTargets.update(turn.sql, { id }, changes)
      return
    }
    const targets = found.targets.map((one) => (one.id === target.id ? target : one))
    await savePost(turn, found, { post: found.post, targets })
  }
}

/** Whether a target shows something at its platform. */
export function isShown({ remoteDeletedAt, status }: TargetRow): boolean {
  return (status === 'published' || status === 'partial') && remoteDeletedAt === null
}

function segmentsOf(turn: Turn, targetId: string): Promise<SegmentRow[]> {
  return postSegments.find(turn.sql, { targetId }, { orderBy: ['position asc'] })
}
