import { sql } from 'kysely'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import type { PostData } from '../schemas.ts'
import { posts, postVersions, type PostSnapshot } from '../tables.ts'

/** What the domain of approvals reads of posts. */

/** The posts of a workspace that wait for approvers, oldest first. */
export async function postsInReview(on: Sql, workspaceId: string): Promise<string[]> {
  const rows = await posts.find(
    on,
    { workspaceId, status: 'in_review', deletedAt: null },
    { columns: ['id'], orderBy: ['id asc'] },
  )
  return rows.map(({ id }) => id)
}

/** The content of a version of a post. */
export async function versionOf(on: Sql, postId: string, version: number): Promise<PostSnapshot | undefined> {
  return (await postVersions.first(on, { postId, version }, { columns: ['snapshot'] }))?.snapshot
}

export type BoardStatus = 'in_review' | 'ready' | 'changes_requested'

interface BoardParameters {
  readonly workspaceId: string
  readonly status: 'in_review' | 'ready' | 'draft'
  readonly stage?: number
  readonly limit: number
}

const boardRows = query({ posts }, (db, $: BoardParameters) => {
  let found = db
    .selectFrom('posts')
    .select(['view', sql<number>`count(*) over ()::int`.as('total')])
    .where('workspaceId', '=', $.workspaceId)
    .where('status', '=', $.status)
    .where('deletedAt', 'is', null)
    .orderBy(sql`scheduled_at nulls last`)
    .orderBy('id')
    .limit($.limit)
  if ($.status === 'draft') found = found.where(sql<boolean>`approval ->> 'status' = 'changes_requested'`)
  if ($.stage !== undefined) found = found.where(sql<boolean>`(approval ->> 'stage')::int = ${$.stage}::int`)
  return found
})

/** A column of the board of approvals: the next posts, and how many there are. */
export async function boardColumn(
  on: Sql,
  workspaceId: string,
  { limit, stage, status }: { status: BoardStatus; stage?: number; limit: number },
): Promise<{ postCount: number; posts: PostData[] }> {
  const rows = await boardRows.rows(on, {
    workspaceId,
    status: status === 'changes_requested' ? 'draft' : status,
    ...(stage !== undefined && { stage }),
    limit,
  })
  return { postCount: rows[0]?.total ?? 0, posts: rows.map(({ view }) => view) }
}

interface SubmittedFilter {
  readonly workspaceId: string
  readonly postId?: string
  readonly accountId?: string
  readonly label?: string
  readonly limit: number
}

const calendarRows = query({ posts }, (db, $: SubmittedFilter) => {
  let found = db
    .selectFrom('posts')
    .select('view')
    .where('workspaceId', '=', $.workspaceId)
    .where('deletedAt', 'is', null)
    .where(
      sql<boolean>`approval is not null and status in ('in_review', 'ready', 'scheduled', 'publishing', 'published')`,
    )
    .orderBy(sql`scheduled_at nulls last`)
    .orderBy('id')
    .limit($.limit)
  if ($.postId !== undefined) found = found.where('id', '=', $.postId)
  if ($.accountId !== undefined) found = found.where(sql<boolean>`account_ids @> array[${$.accountId}::uuid]`)
  if ($.label !== undefined) found = found.where(sql<boolean>`labels @> array[${$.label}::text]`)
  return found
})

/** Drafts are left out: what their authors write is not for guests yet. The submitted posts of a workspace, a label or an account, in the order of their times. */
export async function submittedPosts(on: Sql, filter: SubmittedFilter): Promise<PostData[]> {
  return (await calendarRows.rows(on, filter)).map(({ view }) => view)
}
