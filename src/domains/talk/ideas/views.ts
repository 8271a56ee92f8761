import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { postFiles, type PostFile } from '../../media/assets/index.ts'
import { linkedPosts } from '../../publishing/posts/index.ts'
import type { IdeaData, OwnIdeaData, VoteValue } from './schemas.ts'
import { ideaVotes, type IdeaRow } from './tables.ts'

/** An idea as every member sees it. */
export function ideaView(row: IdeaRow): IdeaData {
  return {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    workspaceId: row.workspaceId,
    boardId: row.boardId,
    column: row.columnId,
    rank: row.rank,
    seq: row.seq,
    title: row.title,
    description: row.description,
    status: row.status,
    statusNote: row.statusNote,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt,
    duplicateOfId: row.duplicateOfId,
    assetIds: row.assetIds,
    postId: row.postId,
    score: row.score,
    upVotesCount: row.upVotesCount,
    downVotesCount: row.downVotesCount,
    commentsCount: row.commentsCount,
    version: row.version,
    createdBy: row.createdBy,
  }
}

/** Ideas as one member sees them: with the own vote, their files, and links only to posts that still exist. */
export async function ownViews(sql: Sql, rows: readonly IdeaRow[], userId: string): Promise<OwnIdeaData[]> {
  const [first] = rows
  if (first === undefined) return []
  const assetIds = rows.flatMap((row) => row.assetIds)
  const [votes, posts, files] = await Promise.all([
    ideaVotes.find(sql, { ideaId: anyOf(rows.map(({ id }) => id)), userId }, { columns: ['ideaId', 'value'] }),
    linkedPosts(
      sql,
      rows.flatMap(({ postId }) => postId ?? []),
    ),
    filesOf(sql, first.workspaceId, assetIds),
  ])
  const own = new Map(votes.map(({ ideaId, value }) => [ideaId, value as VoteValue]))
  return rows.map((row) => ({
    ...ideaView(row),
    postId: row.postId !== null && posts.has(row.postId) ? row.postId : null,
    attachments: attachmentsOf(row.assetIds, files),
    ownVote: own.get(row.id) ?? 0,
  }))
}

/** The assets with these ids that are ready to use. */
export function filesOf(
  sql: Sql,
  workspaceId: string,
  assetIds: readonly string[],
): Promise<ReadonlyMap<string, PostFile>> {
  const refs = assetIds.map((assetId) => ({ assetId }))
  return postFiles(sql, workspaceId, refs)
}

export function attachmentsOf(
  assetIds: readonly string[],
  files: ReadonlyMap<string, PostFile>,
): OwnIdeaData['attachments'] {
  return assetIds.map((assetId) => {
    const media = files.get(assetId)?.media
    return { assetId, name: media?.name ?? null, type: media?.type ?? null }
  })
}
