import { sql as raw } from 'kysely'
import { DAY, type Clock } from '../../../../core/clock.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { type TargetStatus, posts, postTargets } from '../../posts/index.ts'
import type { UpcomingPostData } from './schemas.ts'

/** States of targets that have a time and are still to go out. */
const COMING: readonly TargetStatus[] = ['scheduled', 'in_review', 'ready']

interface Parameters {
  readonly workspaceId: string
  readonly statuses: readonly string[]
  readonly from: string
  readonly to: string
  readonly afterTime?: string
  readonly afterPost?: string
  readonly limit: number
}

/** The page of (time, post) first, so that only its posts are read. */
const findUpcoming = query({ posts, postTargets }, (db, $: Parameters) => {
  let times = db
    .selectFrom('postTargets as t')
    .innerJoin('posts as p', 'p.id', 't.postId')
    .select(['t.scheduledAt', 't.postId', raw<string[]>`array_agg(t.id order by t.position)`.as('targetIds')])
    .where('t.workspaceId', '=', $.workspaceId)
    .where('t.scheduledAt', '>=', $.from)
    .where('t.scheduledAt', '<', $.to)
    .where(raw<boolean>`t.status = any(${$.statuses})`)
    .where('p.deletedAt', 'is', null)
    .groupBy(['t.scheduledAt', 't.postId'])
    .orderBy('t.scheduledAt')
    .orderBy('t.postId')
    .limit($.limit)
  if ($.afterTime !== undefined && $.afterPost !== undefined) {
    times = times.where(raw<boolean>`(t.scheduled_at, t.post_id) > (${$.afterTime}::timestamptz, ${$.afterPost}::uuid)`)
  }
  return db
    .selectFrom(times.as('u'))
    .innerJoin('posts as p', 'p.id', 'u.postId')
    .select(['u.scheduledAt', 'u.postId', 'u.targetIds', 'p.view'])
    .orderBy('u.scheduledAt')
    .orderBy('u.postId')
})

/** What goes out next. */
export class UpcomingPosts {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** What goes out in the next days, soonest first. A target with its own time is listed at that time. */
  async list(workspaceId: string, days: number, { after, limit }: PageRequest): Promise<PageResult<UpcomingPostData>> {
    const now = this.#clock.now()
    const rows = await findUpcoming.rows(this.#sql, {
      workspaceId,
      statuses: COMING,
      from: new Date(now).toISOString(),
      to: new Date(now + days * DAY).toISOString(),
      ...(after !== undefined && { afterTime: after.createdAt, afterPost: after.id }),
      limit: limit + 1,
    })
    return pageOf(
      rows,
      limit,
      ({ postId, scheduledAt }) => ({ createdAt: scheduledAt ?? '', id: postId }),
      ({ scheduledAt, targetIds, view }) => ({
        _id: targetIds[0] ?? '',
        scheduledFor: scheduledAt ?? '',
        targetIds,
        post: view,
      }),
    )
  }
}
