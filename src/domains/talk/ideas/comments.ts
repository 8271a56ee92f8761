import type { Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { Forbidden, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { increment } from '../../../db/increment.ts'
import { findActors, type Actor } from '../../publishing/posts/index.ts'
import { findMemberships, mergedScopes } from '../../workspace/workspaces/index.ts'
import type { PostFile } from '../../media/assets/index.ts'
import { notify } from '../notifications/index.ts'
import { ideaMentioned } from './notifications.ts'
import { ideaCommentCreated, ideaCommentDeleted } from './events.ts'
import { findIdea } from './ideas.ts'
import type { IdeaCommentData, NewIdeaCommentData } from './schemas.ts'
import { ideaComments, ideas, type IdeaCommentRow } from './tables.ts'
import { attachmentsOf, filesOf } from './views.ts'

/** What members say about ideas. */
export class IdeaComments {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** A page of comments, newest first. @throws AppError not_found */
  async list(ideaId: string, page: PageRequest): Promise<PageResult<IdeaCommentData>> {
    const { workspaceId } = await findIdea(this.#sql, ideaId)
    const rows = await ideaComments.page(this.#sql, { ideaId }, page)
    const authorIds = rows.map(({ authorId }) => authorId)
    const assetIds = rows.flatMap((row) => row.assetIds)
    const [actors, files] = await Promise.all([
      findActors(this.#sql, authorIds),
      filesOf(this.#sql, workspaceId, assetIds),
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
   * @throws AppError not_found; validation_failed for unknown assets, and users who cannot see ideas
   */
  async add(turn: Turn, ideaId: string, input: NewIdeaCommentData, userId: string): Promise<IdeaCommentData> {
    const { attachments: assetIds = [], body, mentions = [] } = input
    const idea = await findIdea(turn.sql, ideaId)
    await requireReaders(turn, mentions)
    const files = await filesOf(turn.sql, turn.workspaceId, assetIds)
    const errors = assetIds.flatMap((id, index) => {
      const message = 'must be the id of an asset of the workspace that is ready to use'
      return files.has(id) ? [] : [{ path: `/body/attachments/${index}`, code: 'unknown', message }]
    })
    if (errors.length > 0) throw ValidationFailed({ errors })
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const { workspaceId } = turn
    const id = uuidv7(now)
    const row: IdeaCommentRow = {
      id,
      workspaceId,
      ideaId,
      authorId: userId,
      body,
      mentions,
      assetIds,
      createdAt: at,
      updatedAt: at,
    }
    turn.insert(ideaComments, row)
    await ideas.update(turn.sql, { id: ideaId }, { commentsCount: increment() })
    const actor = (await findActors(turn.sql, [userId])).get(userId)
    const view = commentView(row, actor, files)
    turn.emit(ideaCommentCreated, view)
    turn.audit({ kind: 'idea', id: ideaId, details: { commentId: id } })
    notify(turn, ideaMentioned, {
      to: mentions,
      actorId: userId,
      data: { ideaId, idea: idea.title, comment: body },
    })
    return view
  }

  /**
   * Deletes a comment: one's own, or with team:manage any.
   * @throws AppError not_found, forbidden
   */
  async delete(turn: Turn, { commentId, id: ideaId }: { id: string; commentId: string }, member: Member) {
    await findIdea(turn.sql, ideaId)
    const comment = await ideaComments.first(turn.sql, { id: commentId, ideaId }, { columns: ['authorId'] })
    if (comment === undefined) throw NotFound()
    if (comment.authorId !== member.userId && !member.scopes.has('team:manage')) {
      throw Forbidden({
        message:
          'You need the scope team:manage to delete the comment of another member. Ask the author, or a member who has the scope.',
      })
    }
    await ideaComments.delete(turn.sql, { id: commentId })
    await ideas.update(turn.sql, { id: ideaId }, { commentsCount: increment(-1) })
    turn.emit(ideaCommentDeleted, { ideaCommentId: commentId, ideaId })
    turn.audit({ kind: 'idea', id: ideaId, details: { commentId } })
  }
}

/** @throws AppError validation_failed naming the users who cannot see ideas */
async function requireReaders({ sql, workspaceId }: Turn, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return
  const members = await findMemberships(sql, { workspaceId, userIds })
  const readers = new Set(
    members.filter((member) => mergedScopes(member).has('ideas:read')).map(({ userId }) => userId),
  )
  const errors = userIds.flatMap((id, index) => {
    const message = 'must be the user id of a member of the workspace who can see ideas'
    return readers.has(id) ? [] : [{ path: `/body/mentions/${index}`, code: 'no_member', message }]
  })
  if (errors.length > 0) throw ValidationFailed({ errors })
}

function commentView(
  row: IdeaCommentRow,
  actor: Actor | undefined,
  files: ReadonlyMap<string, PostFile>,
): IdeaCommentData {
  return {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    ideaId: row.ideaId,
    actor: actor ?? null,
    body: row.body,
    mentions: row.mentions,
    attachments: attachmentsOf(row.assetIds, files),
  }
}
