import type { Member } from '../../../../core/caller.ts'
import type { Clock } from '../../../../core/clock.ts'
import { Forbidden, NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { postFiles, type PostFile } from '../../../media/assets/index.ts'
import { notify } from '../../../talk/notifications/index.ts'
import { findMemberships, mergedScopes } from '../../../workspace/workspaces/index.ts'
import {
  findActors,
  type Actor,
  commentAdded,
  commentMentioned,
  postName,
  posts,
  type PostRow,
} from '../../posts/index.ts'
import { postCommentCreated, postCommentDeleted } from './events.ts'
import type { NewCommentInput, PostCommentData } from './schemas.ts'
import { postComments, type CommentRow } from './tables.ts'

/** What members say about posts. Platforms do not see it. */
export class PostComments {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** A page of comments, newest first. @throws AppError not_found */
  async list(postId: string, page: PageRequest): Promise<PageResult<PostCommentData>> {
    const post = await findPost(this.#sql, postId)
    const rows = await postComments.page(this.#sql, { postId }, page)
    const [actors, files] = await Promise.all([
      findActors(
        this.#sql,
        rows.map(({ authorId }) => authorId),
      ),
      filesOf(
        this.#sql,
        post.workspaceId,
        rows.flatMap(({ assetIds }) => assetIds),
      ),
    ])
    return pageOf(
      rows,
      page.limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      (row) => commentView(row, actors.get(row.authorId), files),
    )
  }

  /**
   * Adds a comment, and sends a mail to the members that it mentions, if they want one.
   * @throws AppError not_found; validation_failed for unknown assets, and users who cannot see the post
   */
  async add(turn: Turn, postId: string, input: NewCommentInput, userId: string): Promise<PostCommentData> {
    const { workspaceId } = turn
    const post = await findPost(turn.sql, postId)
    const { attachments: assetIds = [], body, mentions = [] } = input
    await requireReaders(turn, mentions)
    const files = await filesOf(turn.sql, workspaceId, assetIds)
    const errors = assetIds.flatMap((id, index) => {
      const message = 'must be the id of an asset of the workspace that is ready to use'
      return files.has(id) ? [] : [{ path: `/body/attachments/${index}`, code: 'unknown', message }]
    })
    if (errors.length > 0) throw ValidationFailed({ errors })
    const at = new Date(this.#clock.now()).toISOString()
    const row: CommentRow = {
      id: uuidv7(this.#clock.now()),
      workspaceId,
      postId,
      authorId: userId,
      body,
      mentions,
      assetIds,
      createdAt: at,
      updatedAt: at,
    }
    turn.insert(postComments, row)
    const actor = (await findActors(turn.sql, [userId])).get(userId)
    const view = commentView(row, actor, files)
    turn.emit(postCommentCreated, view)
    turn.audit({ kind: 'post', id: postId, details: { commentId: row.id } })
    await this.#notify(turn, post, view)
    return view
  }

  /**
   * Deletes a comment: one's own, or with team:manage any.
   * @throws AppError not_found, forbidden
   */
  async delete(turn: Turn, { commentId, id: postId }: { id: string; commentId: string }, member: Member) {
    await findPost(turn.sql, postId)
    const comment = await postComments.first(turn.sql, { id: commentId, postId }, { columns: ['authorId'] })
    if (comment === undefined) throw NotFound()
    if (comment.authorId !== member.userId && !member.scopes.has('team:manage')) {
      throw Forbidden({
        message:
          'You need the scope team:manage to delete the comment of another member. Ask the author, or a member who has the scope.',
      })
    }
    await postComments.delete(turn.sql, { id: commentId })
    turn.emit(postCommentDeleted, { postCommentId: commentId, postId })
    turn.audit({ kind: 'post', id: postId, details: { commentId } })
  }

  /** Tells who is mentioned, and the others who take part: who created the post, and who has commented on it. */
  async #notify(turn: Turn, post: PostRow, { actor, body, mentions }: PostCommentData): Promise<void> {
    const name = postName(post.body)
    const data = { postId: post.id, post: name, comment: body }
    const common = { actorId: actor?._id }
    notify(turn, commentMentioned, { ...common, to: mentions, data: { ...data, hasPost: name === '' ? 'no' : 'yes' } })
    const earlier = await postComments.find(turn.sql, { postId: post.id }, { columns: ['authorId'] })
    const others = [post.createdBy, ...earlier.map(({ authorId }) => authorId)]
    notify(turn, commentAdded, { ...common, to: others.filter((id) => !mentions.includes(id)), data })
  }
}

/** @throws AppError not_found */
async function findPost(sql: Sql, id: string): Promise<PostRow> {
  const post = await posts.first(sql, { id, deletedAt: null })
  if (post === undefined) throw NotFound()
  return post
}

/** @throws AppError validation_failed naming the users who cannot see posts */
async function requireReaders({ sql, workspaceId }: Turn, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return
  const members = await findMemberships(sql, { workspaceId, userIds })
  const readers = new Set(
    members.filter((member) => mergedScopes(member).has('posts:read')).map(({ userId }) => userId),
  )
  const errors = userIds.flatMap((id, index) => {
    const message = 'must be the user id of a member of the workspace who can see posts'
    return readers.has(id) ? [] : [{ path: `/body/mentions/${index}`, code: 'no_member', message }]
  })
  if (errors.length > 0) throw ValidationFailed({ errors })
}

function filesOf(sql: Sql, workspaceId: string, assetIds: readonly string[]) {
  return postFiles(
    sql,
    workspaceId,
    assetIds.map((assetId) => ({ assetId })),
  )
}

function commentView(row: CommentRow, actor: Actor | undefined, files: ReadonlyMap<string, PostFile>): PostCommentData {
  return {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    postId: row.postId,
    actor: actor ?? null,
    body: row.body,
    mentions: row.mentions,
    attachments: row.assetIds.map((assetId) => {
      const media = files.get(assetId)?.media
      return { assetId, name: media?.name ?? null, type: media?.type ?? null }
    }),
  }
}
