import { sql, type RawBuilder } from 'kysely'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { countPosts, type PostData, posts, postVersions, type PostSnapshot } from '../../posts/index.ts'

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
  readonly stage?: number
  readonly limit: number
}

/** The conditions are literals, so that they match partial indexes. */
const CONDITIONS: Readonly<Record<BoardStatus, RawBuilder<boolean>>> = {
  in_review: sql`status = 'in_review'`,
  ready: sql`status = 'ready'`,
  changes_requested: sql`status = 'draft' and approval ->> 'status' = 'changes_requested'`,
}

function boardRows(status: BoardStatus) {
  return query({ posts }, (db, $: BoardParameters) => {
    const found = db
      .selectFrom('posts')
      .select('view')
      .where('workspaceId', '=', $.workspaceId)
      .where('deletedAt', 'is', null)
      .where(CONDITIONS[status])
      .orderBy('scheduledAt')
      .orderBy('id')
      .limit($.limit)
    return $.stage === undefined
      ? found
      : found.where(sql<boolean>`(approval ->> 'stage')::integer = ${$.stage}::integer`)
  })
}

const BOARD = {
  in_review: boardRows('in_review'),
  ready: boardRows('ready'),
  changes_requested: boardRows('changes_requested'),
}

/** A column of the board of approvals: the next posts, and how many there are. */
export async function boardColumn(
  on: Sql,
  workspaceId: string,
  { limit, stage, status }: { status: BoardStatus; stage?: number; limit: number },
): Promise<{ postCount: number; posts: PostData[] }> {
  const inStage = stage === undefined ? {} : { stage }
  const isChanged = status === 'changes_requested'
  const [postCount, rows] = await Promise.all([
    countPosts(on, {
      workspaceId,
      statuses: [isChanged ? 'draft' : status],
      ...(isChanged && { approval: 'changes_requested' }),
      ...inStage,
    }),
    BOARD[status].rows(on, { workspaceId, limit, ...inStage }),
  ])
  return { postCount, posts: rows.map(({ view }) => view) }
}

/** What guests see of posts. Drafts are left out: what their authors write is not for guests yet. */
export type SubmittedStatus = 'in_review' | 'ready' | 'scheduled' | 'publishing' | 'published'

interface SubmittedFilter {
  readonly workspaceId: string
  readonly postId?: string
  readonly accountId?: string
  readonly label?: string
  /** Only posts at stages with these numbers. */
  readonly stages?: readonly number[]
  readonly limit: number
}

/** One statement for each status, so that each follows an index in the order of the times. */
function submittedRows(status: SubmittedStatus) {
  const direction = status === 'published' ? 'desc' : 'asc'
  return query({ posts }, (db, $: SubmittedFilter) => {
    let found = db
      .selectFrom('posts')
      .select('view')
      .where('workspaceId', '=', $.workspaceId)
      .where('deletedAt', 'is', null)
      .where('status', '=', sql.lit(status))
      .where('approval', 'is not', null)
      .orderBy('scheduledAt', direction)
      .orderBy('id', direction)
      .limit($.limit)
    if ($.postId !== undefined) found = found.where('id', '=', $.postId)
    if ($.accountId !== undefined) found = found.where(sql<boolean>`account_ids @> array[${$.accountId}::uuid]`)
    if ($.label !== undefined)
      found = found.where(
        sql<boolean>`workspace_terms(workspace_id, labels) @> workspace_terms(${$.workspaceId}::uuid, array[${$.label}::text])`,
      )
    if ($.stages !== undefined)
      found = found.where(sql<boolean>`(approval ->> 'stage')::integer = any(${$.stages}::integer[])`)
    return found
  })
}

const SUBMITTED: Readonly<Record<SubmittedStatus, ReturnType<typeof submittedRows>>> = {
  in_review: submittedRows('in_review'),
  ready: submittedRows('ready'),
  scheduled: submittedRows('scheduled'),
  publishing: submittedRows('publishing'),
  published: submittedRows('published'),
}

/**
 * The submitted posts of a workspace, a label or an account that have a status, in the order of their times. Published
 * posts come newest first.
 */
export async function submittedPosts(on: Sql, status: SubmittedStatus, filter: SubmittedFilter): Promise<PostData[]> {
  return (await SUBMITTED[status].rows(on, filter)).map(({ view }) => view)
}
