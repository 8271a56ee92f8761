import type { Turn } from '../../../../core/turn.ts'
import { aiSettingsOf } from '../../../workspace/workspaces/index.ts'
import { ModelTextNotReleased } from '../errors.ts'
import { act } from '../moves.ts'
import type { DecisionScope } from '../planning-scope.ts'
import type { TargetStatus } from '../state.ts'
import type { LoadedPost } from '../store.ts'
import type { TargetProblem, TargetRow } from '../tables.ts'
import type { PostTextOriginData } from './schemas.ts'

/** States that a target reaches only with a decision of a person, or by a rule, if a model wrote its text. */
const OUT: readonly TargetStatus[] = ['scheduled', 'publishing', 'published', 'partial', 'unconfirmed']

/** Why a target is a draft again although something without a person scheduled it. */
const HELD: TargetProblem = {
  code: 'model_text_not_released',
  message: 'A model wrote text of this post, and no person has decided to publish it.',
  whoActs: 'user',
  nextStep:
    'Schedule or publish it in a login session, or set autoPublishModelText in the AI settings of the workspace.',
  kind: null,
  platformCode: null,
  platformMessage: null,
}

/** Who decided, and how, that texts of models are published. */
export type TextRelease = Pick<PostTextOriginData, 'release' | 'releasedBy' | 'releasedAt'>

/** Whether a person makes a request: an API key acts without one. */
export function isPerson({ caller }: Pick<Turn, 'caller'>): boolean {
  return caller?.via === 'token'
}

/**
 * A post before it is stored. If a model wrote text of it, it is scheduled or published only after a person has decided
 * so, or by a rule of the workspace. The decision is recorded with who and when. It ends with the text that it was made
 * for, and when the post is taken from the schedule.
 * @param holds whether its targets become drafts where an API key must not schedule them. They always do where nobody
 *   makes the request
 * @throws AppError model_text_not_released for an API key, unless `holds`
 */
export async function released(turn: Turn, loaded: LoadedPost, holds = turn.caller === undefined): Promise<LoadedPost> {
  const { textOrigin, updatedAt } = loaded.post
  if (textOrigin === null) return loaded
  const statuses = loaded.targets.map(({ status }) => status)
  if (textOrigin.release !== null) return loaded.targets.every(isTakenBack) ? withRelease(loaded, NONE) : loaded
  const isOut = statuses.some((status) => OUT.includes(status))
  const { caller } = turn
  const by = { releasedBy: caller?.userId ?? null, releasedAt: updatedAt }
  if (isPerson(turn)) {
    const isMeant = isOut || statuses.includes('in_review')
    return isMeant ? withRelease(loaded, { release: 'person', ...by }) : loaded
  }
  if (!isOut) return loaded
  const { autoPublishModelText } = await aiSettingsOf(turn.sql, turn.workspaceId)
  if (autoPublishModelText) return withRelease(loaded, { release: 'rule', ...by })
  if (!holds) throw notReleased(textOrigin)
  const targets = loaded.targets.map((target) =>
    target.status === 'scheduled' ? act(target, 'unschedule', { plan: target.plan + 1, problem: HELD }) : target,
  )
  return { ...loaded, targets }
}

/** A post that a person has approved: a member in a session, or a guest (null). */
export function approvedByPerson(loaded: LoadedPost, releasedBy: string | null, releasedAt: string): LoadedPost {
  return withRelease(loaded, { release: 'approval', releasedBy, releasedAt })
}

/**
 * Refuses texts of models that would be scheduled later, for instance those of a series.
 * @throws AppError model_text_not_released for an API key
 */
export async function requireRelease(scope: DecisionScope, origin: PostTextOriginData | null): Promise<void> {
  if (origin === null || scope.caller === undefined || isPerson(scope)) return
  const { autoPublishModelText } = await aiSettingsOf(scope.sql, scope.workspaceId)
  if (!autoPublishModelText) throw notReleased(origin)
}

const NONE: TextRelease = { release: null, releasedBy: null, releasedAt: null }

function withRelease({ post, targets }: LoadedPost, release: TextRelease): LoadedPost {
  if (post.textOrigin === null) return { post, targets }
  return { post: { ...post, textOrigin: { ...post.textOrigin, ...release } }, targets }
}

/**
 * Whether a target was taken from the schedule. A cancellation with its account has a `problem`, and does not count.
 */
function isTakenBack({ problem, status }: TargetRow): boolean {
  return status === 'draft' || (status === 'cancelled' && problem === null)
}

function notReleased({ aiJobIds, models }: PostTextOriginData) {
  return ModelTextNotReleased({ details: { aiJobIds, models } })
}
