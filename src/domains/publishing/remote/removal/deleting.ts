import type { Turn } from '../../../../core/turn.ts'
import { postDeleted, posts, postTargets } from '../../posts/index.ts'
import { remoteChanges } from '../tables.ts'

/** Moves a post to the bin. */
export async function deletePostNow(turn: Turn, id: string, deletedAt: string): Promise<void> {
  if ((await posts.update(turn.sql, { id, deletedAt: null }, { deletedAt })) === 0) return
  turn.emit(postDeleted, { postId: id })
}

/** Moves a post to the bin if a deletion has ended and nothing of the post is left at a platform. */
export async function deleteWhenGone(turn: Turn, postId: string, at: string): Promise<void> {
  if (await remoteChanges.exists(turn.sql, { postId })) return
  const targets = await postTargets.find(turn.sql, { postId }, { columns: ['remoteId', 'remoteDeletedAt', 'status'] })
  const isLeft = targets.some(({ remoteDeletedAt, remoteId, status }) => {
    return (remoteId !== null && remoteDeletedAt === null) || status === 'publishing' || status === 'unconfirmed'
  })
  if (!isLeft) await deletePostNow(turn, postId, at)
}
