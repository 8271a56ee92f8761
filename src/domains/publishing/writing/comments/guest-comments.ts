import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import { postComments } from './tables.ts'

/** What a guest may see of a comment. */
export interface GuestComment {
  readonly postId: string
  readonly authorId: string
  readonly body: string
  readonly createdAt: string
}

/** Comments of one post that a page for guests shows. */
const MAX = 50

/** The open comments on posts that are for guests, oldest first. A reply to an internal comment is never among them. */
export async function guestComments(
  sql: Sql,
  workspaceId: string,
  postIds: readonly string[],
): Promise<ReadonlyMap<string, readonly GuestComment[]>> {
  if (postIds.length === 0) return new Map()
  const columns = ['id', 'postId', 'authorId', 'body', 'createdAt', 'replyTo', 'resolvedAt'] as const
  const rows = await postComments.find(
    sql,
    { workspaceId, postId: anyOf(postIds), visibility: 'guests' },
    { columns, orderBy: ['id desc'], limit: MAX * postIds.length },
  )
  const open = new Set(
    rows.flatMap(({ id, replyTo, resolvedAt }) => (replyTo === null && resolvedAt === null ? [id] : [])),
  )
  const shown = rows.filter(({ id, replyTo }) => open.has(replyTo ?? id)).toReversed()
  return new Map(postIds.map((id) => [id, shown.filter(({ postId }) => postId === id).slice(-MAX)]))
}
