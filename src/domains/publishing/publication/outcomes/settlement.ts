import type { Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import type { Turn } from '../../../../core/turn.ts'
import {
  act,
  notPossible,
  type PostData,
  loadPost,
  savePost,
  postSegments,
  postTargets,
  type SegmentRow,
  type TargetRow,
  PROBLEMS,
} from '../../posts/index.ts'
import type { SettlementInput } from '../schemas.ts'

/** Records what users say about outcomes that platforms do not report. */
export class Settlement {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Ends an unconfirmed target. A running check is fenced, and its result is only recorded. A call that is being made
   * takes precedence over the user, because nobody can have seen its outcome.
   * @throws AppError not_found, post_state_conflict
   */
  async settle(
    turn: Turn,
    { id, targetId }: { readonly id: string; readonly targetId: string },
    { outcome, url }: SettlementInput,
  ): Promise<PostData> {
    // A worker that is about to make a call has stored this before the lock, or is fenced.
    await postTargets.find(turn.sql, { id: targetId }, { columns: ['id'], lock: 'for update' })
    const before = await loadPost(turn.sql, id)
    const target = before.targets.find((one) => one.id === targetId)
    if (target === undefined) throw NotFound()
    if (target.status !== 'unconfirmed') throw notPossible('settle', target.status, [target], 'Its outcome is known.')
    const segments = await postSegments.find(turn.sql, { targetId }, { orderBy: ['position asc'] })
    const now = this.#clock.now()
    const isBeingMade = segments.some(({ sentBy, status }) => status === 'calling' && Date.parse(sentBy ?? '') > now)
    if (isBeingMade) {
      throw notPossible('settle', target.status, [target], 'A call is being made. Try again in a minute.')
    }
    const at = new Date(now).toISOString()
    const changes = outcome === 'published' ? published(url ?? null, at) : NOT_PUBLISHED
    for (const segment of segments) {
      if (segment.status === 'calling') {
        await postSegments.update(turn.sql, { id: segment.id }, { ...changes, sentBy: null, updatedAt: at })
      }
    }
    const ended = { attemptId: null, leaseUntil: null, nextAttemptAt: null, plan: target.plan + 1, updatedAt: at }
    const settled = { ...this.#settled(target, segments, outcome), ...ended }
    const next = outcome === 'published' ? { ...settled, url: target.url ?? url ?? null, publishedAt: at } : settled
    turn.audit({ kind: 'post', id })
    const targets = before.targets.map((one) => (one.id === targetId ? next : one))
    return savePost(turn, before, { post: { ...before.post, updatedAt: at }, targets })
  }

  #settled(target: TargetRow, segments: readonly SegmentRow[], outcome: SettlementInput['outcome']): TargetRow {
    if (outcome === 'published') {
      const isComplete = segments.every(({ status }) => status === 'published' || status === 'calling')
      return isComplete
        ? act(target, 'publish', { problem: null })
        : act(target, 'publish_part', { problem: PROBLEMS.restMissing })
    }
    const isStarted = segments.some(({ status }) => status === 'published')
    return act(target, isStarted ? 'publish_part' : 'fail', { problem: PROBLEMS.settledAbsent })
  }
}

/** The segment starts over with new uploads. `calledAt` is kept, so that a refusal as a duplicate is recognized. */
const NOT_PUBLISHED = { status: 'pending', state: null } as const

/** The platform's id is not known. */
function published(url: string | null, publishedAt: string) {
  return { status: 'published', remote: { id: '', url }, publishedAt } as const
}
