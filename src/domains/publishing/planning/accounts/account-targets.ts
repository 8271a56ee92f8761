import type { Clock } from '../../../../core/clock.ts'
import type { Provided } from '../../../../core/provided.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { query } from '../../../../db/query.ts'
import { sql as raw } from 'kysely'
import type { AccountPosts, DuePost } from '../../../social/accounts/index.ts'
import {
  type ApprovalGate,
  released,
  calledTargets,
  act,
  canAct,
  PROBLEMS,
  type TargetStatus,
  loadPost,
  savePost,
  type LoadedPost,
  posts,
  postTargets,
  type TargetRow,
} from '../../posts/index.ts'
import { timeOfPost } from '../time.ts'
import { scheduled, timed } from '../planning.ts'
import { tryAgainAt } from '../wake/wake.ts'
import { DELETED, DISCONNECTED } from './reasons.ts'

/** How many posts a preview lists. */
const MAX_DUE = 500
/** States in which a target is cancelled with its account. */
const CANCELLED: readonly TargetStatus[] = ['scheduled', 'publishing']

const findDue = query({ posts, postTargets }, (db, $: { accountIds: readonly string[]; statuses: readonly string[] }) =>
  db
    .selectFrom('postTargets as t')
    .innerJoin('posts as p', 'p.id', 't.postId')
    .select(['t.postId', raw<string>`left(p.search_text, 80)`.as('title'), 't.scheduledAt'])
    .where(raw<boolean>`t.account_id = any(${$.accountIds})`)
    .where(raw<boolean>`t.status = any(${$.statuses})`)
    .where('p.deletedAt', 'is', null)
    .orderBy('t.scheduledAt')
    .orderBy('t.id')
    .limit(MAX_DUE),
)

const findPosts = query({ posts, postTargets }, (db, $: { accountId: string; statuses: readonly string[] }) =>
  db
    .selectFrom('postTargets as t')
    .innerJoin('posts as p', 'p.id', 't.postId')
    .select('t.postId')
    .where('t.accountId', '=', $.accountId)
    .where(raw<boolean>`t.status = any(${$.statuses})`)
    .where('p.deletedAt', 'is', null)
    .orderBy('t.scheduledAt')
    .orderBy('t.id'),
)

/** Changes the targets of an account when its status changes. */
export class AccountTargets implements AccountPosts {
  readonly #clock: Clock
  readonly #approvals: Provided<ApprovalGate>

  constructor(clock: Clock, approvals: Provided<ApprovalGate>) {
    this.#clock = clock
    this.#approvals = approvals
  }

  readonly due = async (sql: Sql, accountIds: readonly string[]): Promise<DuePost[]> => {
    const rows = await findDue.rows(sql, { accountIds, statuses: CANCELLED })
    return rows.flatMap(({ postId, scheduledAt, title }) =>
      scheduledAt === null ? [] : [{ postId, title, scheduledFor: scheduledAt }],
    )
  }

  /**
   * Cancels the scheduled targets. One that is being published is cancelled if the call that publishes it has not been
   * made; otherwise it ends first. A check of an unknown outcome is left to the user, because it needs the account.
   */
  readonly cancel = (turn: Turn, accountId: string): Promise<void> =>
    this.#each(turn, accountId, [...CANCELLED, 'unconfirmed'], async (loaded) => {
      const called = await calledTargets(turn, loaded)
      return (target) => {
        const ended = { attemptId: null, leaseUntil: null, nextAttemptAt: null, plan: target.plan + 1 }
        if (target.status === 'unconfirmed') {
          return { ...target, ...ended, problem: PROBLEMS.unknown('the platform', 'the account was disconnected.') }
        }
        if (!canAct(target, 'cancel') || called.has(target.id)) return target
        return act(target, 'cancel', { ...ended, problem: DISCONNECTED })
      }
    })

  /**
   * Schedules again what was cancelled with the account and is still to come. In a workspace with an approval flow, this
   * needs the same approval as any other schedule. Unknown outcomes are checked again.
   */
  readonly restore = async (turn: Turn, accountId: string): Promise<void> => {
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const approvals = this.#approvals.get()
    const place = (await approvals.applies(turn)) ? timed : scheduled
    const again = ({ post: { lateMinutes } }: LoadedPost): Change => {
      return (target) => {
        const time = timeOfPost(target)
        if (target.problem?.code !== DISCONNECTED.code || time === null || Date.parse(time.scheduledAt) <= now) {
          return target
        }
        return place(turn, target, { time, lateMinutes, at })
      }
    }
    await this.#each(turn, accountId, ['cancelled'], again, async (before, after) => {
      const change = { before, after, userId: before.post.createdBy, publishNow: false }
      // A post must not keep its account from being connected.
      return released(turn, await approvals.changed(turn, change), true)
    })
    await this.#each(turn, accountId, ['unconfirmed'], () => (target) => {
      const plan = target.plan + 1
      tryAgainAt(turn, now)
      return { ...target, plan, nextAttemptAt: at }
    })
  }

  /** Says at scheduled targets what holds them, before they are due. */
  readonly hold = (turn: Turn, accountId: string, reason: string | null): Promise<void> =>
    this.#each(turn, accountId, ['scheduled'], () => (target) => {
      if (reason !== null) return { ...target, problem: PROBLEMS.held(reason) }
      return target.problem?.code === 'held' ? { ...target, problem: null } : target
    })

  /** Says at what is not published that the account is gone. */
  readonly forget = (turn: Turn, accountId: string): Promise<void> =>
    this.#each(turn, accountId, ['draft', 'in_review', 'ready', 'scheduled', 'cancelled', 'missed'], () => (target) => {
      return { ...target, problem: DELETED }
    })

  /** Changes the target of an account in each post in which it has one of these states. */
  async #each(
    turn: Turn,
    accountId: string,
    statuses: readonly TargetStatus[],
    changeOf: (loaded: LoadedPost) => Change | Promise<Change>,
    gate?: (before: LoadedPost, after: LoadedPost) => Promise<LoadedPost>,
  ): Promise<void> {
    const updatedAt = new Date(this.#clock.now()).toISOString()
    for (const { postId } of await findPosts.rows(turn.sql, { accountId, statuses })) {
      const before = await loadPost(turn.sql, postId)
      const change = await changeOf(before)
      const targets = before.targets.map((target) => {
        if (target.accountId !== accountId || !statuses.includes(target.status)) return target
        const changed = change(target)
        return changed === target ? target : { ...changed, updatedAt }
      })
      if (targets.every((target, index) => target === before.targets[index])) continue
      const after = { post: { ...before.post, updatedAt }, targets }
      await savePost(turn, before, gate === undefined ? after : await gate(before, after))
    }
  }
}

type Change = (target: TargetRow) => TargetRow
