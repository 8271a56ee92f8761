import type { Member } from '../../../../core/caller.ts'
import type { Clock } from '../../../../core/clock.ts'
import { Conflict, Forbidden, NotFound, ValidationFailed } from '../../../../core/errors.ts'
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
import { anchorOf } from './anchors.ts'
import { postCommentCreated, postCommentDeleted, postCommentUpdated } from './events.ts'
import type {
  CommentAnchorData,
  CommentEditInput,
  CommentVisibility,
  NewCommentInput,
  PostCommentData,
} from './schemas.ts'
import { postComments, type CommentRow } from './tables.ts'

/** In one thread. */
const MAX_REPLIES = 200

interface CommentPathData {
  readonly id: string
  readonly commentId: string
}

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
    const root = input.replyTo === undefined ? undefined : await this.#rootOf(turn, postId, input.replyTo)
    const visibility = input.visibility ?? root?.visibility ?? 'internal'
    requireVisible(visibility, root)
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
      replyTo: root?.id ?? null,
      visibility,
      anchor: anchorOf(post, input.anchor),
      editedAt: null,
      resolvedAt: null,
      resolvedBy: null,
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
   * Edits one's own comment.
   * @throws AppError not_found, forbidden, validation_failed
   */
  async edit(turn: Turn, path: CommentPathData, input: CommentEditInput, userId: string): Promise<PostCommentData> {
    const post = await findPost(turn.sql, path.id)
    const before = await findComment(turn.sql, path)
    if (before.authorId !== userId) {
      throw Forbidden({ message: 'Only the author can edit a comment. Reply to it instead.' })
    }
    await requireReaders(turn, input.mentions ?? [])
    const { body = before.body, mentions = before.mentions, visibility = before.visibility } = input
    const root =
      before.replyTo === null ? undefined : await findComment(turn.sql, { ...path, commentId: before.replyTo })
    requireVisible(visibility, root)
    const anchor = isChanged(input.anchor, before.anchor) ? anchorOf(post, input.anchor) : before.anchor
    const isSame = body === before.body && visibility === before.visibility && anchor === before.anchor
    if (isSame && JSON.stringify(mentions) === JSON.stringify(before.mentions)) return this.#shown(turn.sql, before)
    const at = this.#now()
    const view = await this.#change(turn, before, { body, mentions, visibility, anchor, editedAt: at, updatedAt: at })
    const added = mentions.filter((id) => !before.mentions.includes(id))
    const name = postName(post.body)
    const data = { postId: post.id, post: name, comment: body, hasPost: name === '' ? 'no' : 'yes' } as const
    if (added.length > 0) notify(turn, commentMentioned, { actorId: userId, to: added, data })
    return view
  }

  /**
   * Resolves a thread, or opens it again. Repeating it changes nothing.
   * @throws AppError not_found; conflict for a reply
   */
  async resolve(turn: Turn, path: CommentPathData, isResolved: boolean, userId: string): Promise<PostCommentData> {
    await findPost(turn.sql, path.id)
    const before = await findComment(turn.sql, path)
    if (before.replyTo !== null) {
      throw Conflict({ message: 'This is a reply. Resolve or reopen the comment that it answers: `replyTo`.' })
    }
    if ((before.resolvedAt !== null) === isResolved) return this.#shown(turn.sql, before)
    const at = this.#now()
    const [resolvedAt, resolvedBy] = isResolved ? [at, userId] : [null, null]
    return this.#change(turn, before, { resolvedAt, resolvedBy, updatedAt: at })
  }

  async #change(turn: Turn, before: CommentRow, changes: Partial<CommentRow>): Promise<PostCommentData> {
    await postComments.update(turn.sql, { id: before.id }, changes)
    const view = await this.#shown(turn.sql, { ...before, ...changes })
    turn.emit(postCommentUpdated, view)
    turn.audit({ kind: 'post', id: before.postId, details: { commentId: before.id } })
    return view
  }

  async #shown(sql: Sql, row: CommentRow): Promise<PostCommentData> {
    const actors = await findActors(sql, [row.authorId])
    return commentView(row, actors.get(row.authorId), await filesOf(sql, row.workspaceId, row.assetIds))
  }

  /** The first comment of a thread that takes another reply. @throws AppError validation_failed, conflict */
  async #rootOf({ sql }: Turn, postId: string, id: string): Promise<CommentRow> {
    const root = await postComments.first(sql, { id, postId })
    if (root === undefined || root.replyTo !== null) {
      const message = 'must be the id of a comment on this post that is no reply itself'
      throw ValidationFailed({ errors: [{ path: '/body/replyTo', code: 'unknown', message }] })
    }
    if ((await postComments.count(sql, { replyTo: id })) >= MAX_REPLIES) {
      throw Conflict({ message: `A thread has at most ${MAX_REPLIES} replies. Begin another one.` })
    }
    return root
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString()
  }

  /**
   * Deletes a comment with its replies: one's own, or with team:manage any.
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
    const replies = await postComments.find(turn.sql, { replyTo: commentId }, { columns: ['id'], orderBy: ['id asc'] })
    await postComments.delete(turn.sql, { replyTo: commentId })
    await postComments.delete(turn.sql, { id: commentId })
    for (const { id } of [...replies, { id: commentId }]) turn.emit(postCommentDeleted, { postCommentId: id, postId })
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
async function findComment(sql: Sql, { commentId, id: postId }: CommentPathData): Promise<CommentRow> {
  const comment = await postComments.first(sql, { id: commentId, postId })
  if (comment === undefined) throw NotFound()
  return comment
}

/** Guests would see a reply without the comment that it answers. @throws AppError validation_failed */
function requireVisible(visibility: CommentVisibility, root: CommentRow | undefined): void {
  if (visibility !== 'guests' || root === undefined || root.visibility === 'guests') return
  const message = 'must be `internal`, because the comment that it answers is internal'
  throw ValidationFailed({ errors: [{ path: '/body/visibility', code: 'internal', message }] })
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
    replyTo: row.replyTo,
    visibility: row.visibility,
    anchor: row.anchor,
    editedAt: row.editedAt,
    resolvedAt: row.resolvedAt,
    resolvedBy: row.resolvedBy,
  }
}

/** Whether an edit changes the anchor. One that is sent back as it was read stays, also if the text has changed since. */
function isChanged(sent: CommentEditInput['anchor'], anchor: CommentAnchorData | null): boolean {
  if (sent === undefined) return false
  const plain = (one: CommentEditInput['anchor']) => {
    const { asset, textRange } = one ?? {}
    return [asset?.assetId, asset?.left, asset?.top, asset?.width, asset?.height]
      .concat([textRange?.part, textRange?.offset, textRange?.length])
      .join()
  }
  return plain(sent) !== plain(anchor)
}
