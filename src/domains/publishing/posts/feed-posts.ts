import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { PostData } from './schemas.ts'
import { posts } from './tables.ts'

/** The maximum number of posts in a calendar, and of deleted ones. */
const MAX_POSTS = 1_000
const MAX_DELETED = 200

/** A post as calendars show it. */
export interface FeedPost {
  readonly id: string
  readonly view: PostData
  readonly scheduledAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt: string | null
}

interface Parameters {
  readonly workspaceId: string
  readonly from: string
  readonly limit: number
}

const COLUMNS = ['id', 'view', 'scheduledAt', 'createdAt', 'updatedAt', 'deletedAt'] as const

const timedPosts = query({ posts }, (db, $: Parameters) =>
  db
    .selectFrom('posts')
    .select(COLUMNS)
    .where('workspaceId', '=', $.workspaceId)
    .where('deletedAt', 'is', null)
    .where('scheduledAt', '>=', $.from)
    .orderBy('scheduledAt')
    .orderBy('id')
    .limit($.limit),
)

const deletedPosts = query({ posts }, (db, $: Parameters) =>
  db
    .selectFrom('posts')
    .select(COLUMNS)
    .where('workspaceId', '=', $.workspaceId)
    .where('deletedAt', 'is not', null)
    .where('scheduledAt', '>=', $.from)
    .orderBy('id', 'desc')
    .limit($.limit),
)

/**
 * The posts of a workspace that have a time from an instant on, in the order of their times, and after them those that
 * were deleted and are still kept.
 * @param from ISO 8601
 */
export async function feedPosts(sql: Sql, workspaceId: string, from: string): Promise<FeedPost[]> {
  const [timed, deleted] = await Promise.all([
    timedPosts.rows(sql, { workspaceId, from, limit: MAX_POSTS }),
    deletedPosts.rows(sql, { workspaceId, from, limit: MAX_DELETED }),
  ])
  return [...timed, ...deleted]
}
