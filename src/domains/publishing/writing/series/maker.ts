import { MINUTE, type Clock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Turn } from '../../../../core/turn.ts'
import { PUBLISHING_STATUSES, type PostingAccount } from '../../../social/accounts/index.ts'
import {
  DELETED,
  DISCONNECTED,
  type BudgetPlanner,
  type Resources,
  newTarget,
  startBy,
  timesOf,
} from '../../planning/index.ts'
import type { PostAuthor } from '../author.ts'
import type { Occurrence } from '../../calendar/index.ts'
import type { PostChecks } from '../checks.ts'
import {
  allRefs,
  bodyFor,
  refsIn,
  PROBLEMS,
  loadOf,
  reservationsOf,
  type TargetProblem,
  type TargetRow,
  type PostFacts,
} from '../../posts/index.ts'
import type { TextOrigins } from '../text-origin/text-origins.ts'
import { refKey } from '../../../media/assets/index.ts'
import { timeOfOccurrence } from './dates.ts'
import { REASONS } from './reasons.ts'
import type { SeriesRow } from './tables.ts'
import { bodyAt } from './template.ts'

/** What an occurrence cannot be published for at one account, and the status that its target gets. */
interface Obstacle {
  readonly status: TargetRow['status']
  readonly problem: TargetProblem
}

/** Makes the posts of series. */
export class OccurrenceMaker {
  readonly #clock: Clock
  readonly #author: PostAuthor
  readonly #checks: PostChecks
  readonly #origins: TextOrigins
  readonly #room: BudgetPlanner

  constructor(parts: {
    clock: Clock
    author: PostAuthor
    checks: PostChecks
    origins: TextOrigins
    room: BudgetPlanner
  }) {
    this.#origins = parts.origins
    this.#clock = parts.clock
    this.#author = parts.author
    this.#checks = parts.checks
    this.#room = parts.room
  }

  /** Whether an occurrence has passed, so that its post could not be published any more. */
  hasPassed({ template }: Pick<SeriesRow, 'template'>, { instant }: Occurrence): boolean {
    return instant.getTime() + Math.max(1, template.lateMinutes) * MINUTE < this.#clock.now()
  }

  /**
   * Makes the post of an occurrence. It is always made: where it cannot be published, its target says why.
   * @param number of the occurrence in the series, from 0
   * @returns the targets that have a problem
   */
  async make(
    turn: Turn,
    row: SeriesRow,
    occurrence: Occurrence,
    number: number,
  ): Promise<{ readonly postId: string; readonly problems: readonly TargetProblem[] }> {
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const { template } = row
    const body = bodyAt(template, number)
    const time = timeOfOccurrence(occurrence)
    const overrides = template.targets.map(({ override }) => override)
    const ids = template.targets.map(({ accountId }) => accountId)
    const resources = await this.#checks.load(turn.sql, row.workspaceId, { ids, refs: allRefs(body, overrides) })
    const origin = await this.#origins.of(turn, body, template.targets, resources.files)
    const post: PostFacts = {
      id: uuidv7(now),
      workspaceId: row.workspaceId,
      body,
      labels: [...template.labels],
      ...timesOf(time),
      lateMinutes: template.lateMinutes,
      batchId: null,
      seriesId: row.id,
      occurrence: occurrence.key,
      ideaId: null,
      approval: null,
      textOrigin: origin && { ...origin, ...row.textRelease },
      version: 1,
      createdBy: row.authorId,
      deletedAt: null,
      createdAt: at,
      updatedAt: at,
    }
    const targets: TargetRow[] = []
    for (const [position, { accountId, override, platform }] of template.targets.entries()) {
      const wanted = { accountId, override, time, ownTime: false }
      const made = { ...newTarget(post, { target: wanted, position, resources, at }), platform }
      const loaded = { ...made, ...loadOf(body, override, platform) }
      const obstacle = await this.#obstacle(turn, {
        post,
        target: loaded,
        resources,
        isPassed: this.hasPassed(row, occurrence),
      })
      const target: TargetRow = {
        ...loaded,
        status: obstacle?.status ?? 'draft',
        problem: obstacle?.problem ?? null,
        startBy: startBy(time, template.lateMinutes),
      }
      targets.push(target)
      // The next account of the post and the next occurrence must leave it room.
      if (target.status === 'draft') reservationsOf(turn).hold([target])
    }
    // The plan limits series, not their posts: an occurrence is never missing.
    const made = await this.#author.write(turn, { post, targets })
    const held = made.targets.flatMap(({ status, statusReason }) => (status === 'draft' ? (statusReason ?? []) : []))
    return { postId: post.id, problems: [...targets.flatMap(({ problem }) => problem ?? []), ...held] }
  }

  async #obstacle(
    turn: Turn,
    {
      isPassed,
      post,
      resources,
      target,
    }: { post: PostFacts; target: TargetRow; resources: Resources; isPassed: boolean },
  ): Promise<Obstacle | undefined> {
    const { accountId, override, scheduledAt } = target
    if (isPassed) return { status: 'missed', problem: PROBLEMS.late(post.lateMinutes, null) }
    const account = resources.accounts.get(accountId)
    if (account === undefined) return { status: 'cancelled', problem: DELETED }
    // It is scheduled again when the account is restored.
    if (account.status === 'removed') return { status: 'cancelled', problem: DISCONNECTED }
    const missing = missingFiles(post, target, resources)
    if (missing > 0) return { status: 'failed', problem: REASONS.missingFiles(missing) }
    const [verdict] = this.#checks.check(post.body, [{ accountId, override }], resources)
    if (verdict !== undefined && !verdict.isValid) {
      return { status: 'failed', problem: REASONS.refused(verdict.failures.map(({ message }) => message)) }
    }
    const needs = this.#room.needs({ body: post.body, resources, targets: [{ accountId, override }] })
    if (!(await this.#room.hasRoom(turn, needs, Date.parse(scheduledAt ?? '')))) {
      return { status: 'failed', problem: REASONS.noRoom }
    }
    return isUsable(account) ? undefined : { status: 'draft', problem: PROBLEMS.held(whyHeld(account)) }
  }
}

function missingFiles({ body }: PostFacts, { override }: TargetRow, { files }: Resources): number {
  return [...refsIn(bodyFor(body, override))].filter((ref) => !files.has(refKey(ref))).length
}

function isUsable({ status }: PostingAccount): boolean {
  return PUBLISHING_STATUSES.includes(status)
}

function whyHeld({ status, statusReason }: PostingAccount): string {
  return statusReason ?? `The status of the account is ${status}.`
}
