import type { Member } from '../../../../core/caller.ts'
import type { Clock } from '../../../../core/clock.ts'
import { Forbidden, NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../core/id.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { sendMail } from '../../../../mail/jobs.ts'
import { renderMail } from '../../../../mail/layout.ts'
import { plainText, quotedName } from '../../../../mail/user-text.ts'
import { mailRecipients } from '../../../identity/users/index.ts'
import { postFiles, type PostFile } from '../../../media/assets/index.ts'
import { findMemberships, findNames, mergedScopes } from '../../../workspace/workspaces/index.ts'
import { findActors, type Actor } from '../actors.ts'
import { posts, type PostRow } from '../tables.ts'
import { postCommentCreated, postCommentDeleted } from './events.ts'
import type { NewCommentInput, PostCommentData } from './schemas.ts'
import { postComments, type CommentRow } from './tables.ts'

/** Characters of a post that a mail quotes. */
const QUOTED = 200

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
      const message = 'must be an asset of the workspace that is ready to use'
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
    await this.#mailMentioned(turn, post, view)
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
      throw Forbidden({ message: 'Deleting the comments of others requires the scope team:manage.' })
    }
    await postComments.delete(turn.sql, { id: commentId })
    turn.emit(postCommentDeleted, { postCommentId: commentId, postId })
    turn.audit({ kind: 'post', id: postId, details: { commentId } })
  }

  async #mailMentioned(turn: Turn, post: PostRow, { actor, body, mentions }: PostCommentData): Promise<void> {
    const others = mentions.filter((id) => id !== actor?._id)
    const recipients = await mailRecipients(turn.sql, others, 'mention', this.#clock.now())
    if (recipients.length === 0) return
    const names = await findNames(turn.sql, [turn.workspaceId])
    const name = actor === null || actor.name === '' ? 'A member' : quotedName(actor.name)
    const text = post.body.title ?? post.body.content
    const shown = text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text
    for (const { at, email } of recipients) {
      const mail = renderMail(email, `${name} mentioned you in a comment on a post`, [
        'Hello,',
        `${name} mentioned you in a comment on a post of the workspace ${quotedName(names.get(turn.workspaceId) ?? '')}:`,
        plainText(body),
        ...(shown === '' ? [] : [`The post: ${plainText(shown)}`]),
      ])
      turn.job(sendMail, { ...mail }, { runAt: new Date(at) })
    }
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
    const message = 'must be a member of the workspace who can see posts'
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
