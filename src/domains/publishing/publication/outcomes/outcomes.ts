import type { Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import { CALLS_PAUSED } from '../../../../platforms/error-kinds.ts'
import type { LoggedCall } from '../../../../platforms/http/platform-http.ts'
import { publishingSettingsOf } from '../../../identity/users/index.ts'
import {
  act,
  type TargetAction,
  loadPosts,
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
import { notifyOutcomes } from './notices.ts'
import { isCalling } from '../claims/segments.ts'
import { tryAgainAt } from '../../planning/index.ts'

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

/** What an outcome means for its target. */
interface Ending {
  /** Undefined if the state stays. */
  readonly action: TargetAction | undefined
  readonly problem: TargetProblem | null
  /** When the next attempt or check begins; milliseconds since the epoch. */
  readonly at?: number | undefined
}

/** A target that was just published, with what the platform knows of its first part. */
export interface JustPublished {
  readonly target: TargetRow
  readonly first: Pick<SegmentRow, 'part' | 'remote'>
}

/** Takes the outcomes of attempts, in turns. */
export class PublicationOutcomes {
  readonly #clock: Clock
  readonly #listeners: ((turn: Turn, published: readonly JustPublished[]) => Promise<void>)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls a function in the turn that records publications, so that what it writes is stored with them. */
  onPublished(listener: (turn: Turn, published: readonly JustPublished[]) => Promise<void>): void {
    this.#listeners.push(listener)
  }

  /** Records outcomes. That of an attempt that was replaced counts only as a record. */
  async settle(turn: Turn, inputs: readonly SettleInput[]): Promise<void> {
    const ids = inputs.map(({ targetId }) => targetId)
    const [known, segments] = await Promise.all([
      postTargets.find(turn.sql, { id: anyOf(ids) }, { columns: ['id', 'postId'] }),
      postSegments.find(turn.sql, { targetId: anyOf(ids) }, { orderBy: ['position asc'] }),
    ])
    const before = await loadPosts(turn.sql, { id: anyOf([...new Set(known.map(({ postId }) => postId))]) })
    const after = new Map(before.map((loaded) => [loaded.post.id, loaded as LoadedPost]))
    const postOf = new Map(known.map(({ id, postId }) => [id, postId]))
    const segmentsOf = Map.groupBy(segments, ({ targetId }) => targetId)
    const authors = new Set(before.map(({ post }) => post.createdBy))
    const attempts = await mostAttempts(
      turn.sql,
      inputs.some(({ outcome }) => outcome.kind === 'waiting') ? [...authors] : [],
    )
    const writes: Promise<unknown>[] = []
    const published: JustPublished[] = []
    for (const { attemptId, calls, outcome, targetId } of inputs) {
      const loaded = after.get(postOf.get(targetId) ?? '')
      const target = loaded?.targets.find(({ id }) => id === targetId)
      const end = {
        endedAt: new Date(this.#clock.now()).toISOString(),
        problem: 'problem' in outcome ? outcome.problem : null,
        calls,
      }
      if (loaded === undefined || target?.attemptId !== attemptId) {
        writes.push(postAttempts.update(turn.sql, { id: attemptId }, end))
        continue
      }
      const own = segmentsOf.get(targetId) ?? []
      const next = this.#ended(
        turn,
        target,
        own,
        endingOf(loaded, target, own, withinAttempts(outcome, target, attempts.get(loaded.post.createdBy))),
      )
      const [first] = own
      if (target.publishedAt === null && next.publishedAt !== null && first) published.push({ target: next, first })
      after.set(loaded.post.id, {
        post: loaded.post,
        targets: loaded.targets.map((one) => (one.id === targetId ? next : one)),
      })
      writes.push(postAttempts.update(turn.sql, { id: attemptId }, { ...end, outcome: next.status }))
    }
    for (const loaded of before) {
      const changed = after.get(loaded.post.id)
      if (changed === undefined || changed === loaded) continue
      notifyOutcomes(turn, loaded, changed)
      writes.push(savePost(turn, loaded, changed))
    }
    if (published.length > 0) writes.push(...this.#listeners.map((listener) => listener(turn, published)))
    await Promise.all(writes)
  }

  /** The target after an attempt. Has a publisher look at it again if there is more to do. */
  #ended(turn: Turn, target: TargetRow, [first]: readonly SegmentRow[], { action, at, problem }: Ending): TargetRow {
    if (at !== undefined) tryAgainAt(turn, at)
    return {
      ...(action === undefined ? target : act(target, action)),
      problem,
      attemptId: null,
      leaseUntil: null,
      nextAttemptAt: at === undefined ? null : new Date(at).toISOString(),
      remoteId: first?.remote?.id ?? target.remoteId,
      url: first?.remote?.url ?? target.url,
      publishedAt: first?.publishedAt ?? target.publishedAt,
      updatedAt: new Date(this.#clock.now()).toISOString(),
    }
  }
}

/** The most attempts of a post with automatic retries, by author. Authors without a limit are left out. */
async function mostAttempts(sql: Sql, authors: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (authors.length === 0) return new Map()
  const settings = await publishingSettingsOf(sql, authors)
  return new Map(
    [...settings].flatMap(([id, { autoRetry }]) => {
      const most = autoRetry.enabled ? autoRetry.maxAttempts : 1
      return most === null ? [] : [[id, most] as const]
    }),
  )
}

/** After a refusal of the platform, a target is tried again only as often as its author allows. Other waits have no limit. */
function withinAttempts(outcome: Outcome, { attemptCount }: TargetRow, most: number | undefined): Outcome {
  if (outcome.kind !== 'waiting' || most === undefined || attemptCount < most) return outcome
  const { kind, platformCode } = outcome.problem
  if (kind === null || platformCode === CALLS_PAUSED) return outcome
  return { kind: 'failed', problem: PROBLEMS.noMoreRetries(most, outcome.problem) }
}

/** What the user must know of what was published. */
function notedOf(segments: readonly SegmentRow[]): TargetProblem | null {
  const note = segments.find(({ remote }) => remote?.note !== undefined)?.remote?.note
  return note === undefined ? null : PROBLEMS.noted(note)
}

function endingOf(loaded: LoadedPost, target: TargetRow, segments: readonly SegmentRow[], outcome: Outcome): Ending {
  const isStarted = segments.some(({ status }) => status === 'published')
  switch (outcome.kind) {
    case 'published':
      return { action: 'publish', problem: notedOf(segments) }
    case 'failed': {
      // An earlier call may have published it.
      if (isCalling(segments)) return endingOf(loaded, target, segments, { ...outcome, kind: 'unconfirmed', at: null })
      return { action: isStarted ? 'publish_part' : 'fail', problem: outcome.problem }
    }
    case 'waiting': {
      if (outcome.at > Date.parse(target.startBy ?? '')) {
        if (isCalling(segments)) return endingOf(loaded, target, segments, { ...outcome, kind: 'unconfirmed' })
        const problem = PROBLEMS.late(loaded.post.lateMinutes, outcome.problem)
        return { action: isStarted ? 'publish_part' : 'miss', problem }
      }
      return { action: target.status === 'unconfirmed' ? 'retry' : 'claim', problem: outcome.problem, at: outcome.at }
    }
    default:
      return {
        action: target.status === 'unconfirmed' ? undefined : 'lose',
        problem: outcome.problem,
        at: outcome.at ?? undefined,
      }
  }
}
