import { DAY, type Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { greaterThan } from '../../../../db/condition.ts'
import {
  act,
  loadPosts,
  postName,
  postRestored,
  posts,
  reservationsOf,
  saveVersion,
  type PostData,
  type PostRow,
  type TargetRow,
} from '../../posts/index.ts'
import type { BinnedPostData } from '../schemas.ts'

/** How long a deleted post is kept. */
export const KEPT_MS = 30 * DAY

const NAME_LENGTH = 80
const NO_TIME = { localTime: null, timeZone: null, scheduledAt: null, adjustment: null } as const

/** The bin of posts: lists what was deleted, and brings it back. */
export class PostRestoring {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** The deleted posts of a workspace, those that were created last first. */
  async list(workspaceId: string, page: PageRequest): Promise<PageResult<BinnedPostData>> {
    const columns = [
      'id',
      'createdAt',
      'updatedAt',
      'workspaceId',
      'body',
      'status',
      'platforms',
      'scheduledAt',
      'createdBy',
      'deletedAt',
    ] as const
    const rows = await posts.page(this.#sql, { workspaceId, deletedAt: greaterThan(this.#keptSince()) }, page, columns)
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), binned)
  }

  /**
   * Brings a post back from the bin. Nothing of it is published by itself: what was scheduled, in review or approved is a
   * draft. Its time stays as a proposal, unless it has passed.
   * @throws AppError not_found
   */
  async restore(turn: Turn, id: string, authorId: string): Promise<{ post: PostData; isUnscheduled: boolean }> {
    const { workspaceId } = turn
    const [before] = await loadPosts(turn.sql, { id, workspaceId, deletedAt: greaterThan(this.#keptSince()) })
    if (before === undefined) throw NotFound()
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const targets = before.targets.map((target) => draftOf(target, at))
    const isUnscheduled = targets.some(({ status }, index) => status !== before.targets[index]?.status)
    const time = isPast(before.post.scheduledAt, at) && targets.every(({ status }) => status === 'draft') ? NO_TIME : {}
    // The deletion has released them, and saving releases what the post had before.
    reservationsOf(turn).change([], before.targets)
    const after = { post: { ...before.post, ...time, deletedAt: null }, targets }
    const post = await saveVersion(turn, before, after, { kind: 'restored', authorId, now })
    turn.emit(postRestored, post)
    return { post, isUnscheduled }
  }

  #keptSince(): string {
    return new Date(this.#clock.now() - KEPT_MS).toISOString()
  }
}

/** A target that nothing publishes. What was published, failed or cancelled stays as it is. */
function draftOf(target: TargetRow, at: string): TargetRow {
  const { status } = target
  const ended = { attemptId: null, leaseUntil: null, nextAttemptAt: null, updatedAt: at }
  const time = isPast(target.scheduledAt, at) ? { ...NO_TIME, startBy: null, ownTime: false } : {}
  if (status === 'draft') return { ...target, ...time, updatedAt: at }
  if (status === 'scheduled')
    return act(target, 'unschedule', { ...ended, ...time, problem: null, plan: target.plan + 1 })
  if (status === 'in_review' || status === 'ready') return act(target, 'withdraw', { ...ended, ...time, problem: null })
  return target
}

function isPast(time: string | null, now: string): boolean {
  return time !== null && Date.parse(time) <= Date.parse(now)
}

type BinRow = Pick<
  PostRow,
  | 'id'
  | 'createdAt'
  | 'updatedAt'
  | 'workspaceId'
  | 'body'
  | 'status'
  | 'platforms'
  | 'scheduledAt'
  | 'createdBy'
  | 'deletedAt'
>

function binned({ body, deletedAt, id, scheduledAt, ...row }: BinRow): BinnedPostData {
  const deleted = deletedAt ?? row.updatedAt
  return {
    _id: id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    workspaceId: row.workspaceId,
    name: Array.from(postName(body)).slice(0, NAME_LENGTH).join(''),
    status: row.status,
    platforms: [...row.platforms],
    scheduledFor: scheduledAt,
    createdBy: row.createdBy,
    deletedAt: deleted,
    purgedAt: new Date(Date.parse(deleted) + KEPT_MS).toISOString(),
  }
}
