import { atLeast } from '../../../../db/condition.ts'
import type { Turn } from '../../../../core/turn.ts'
import {
  postDeleted,
  canAct,
  notPossible,
  statusOfPost,
  deletePost,
  loadPosts,
  type LoadedPost,
  type TargetStatus,
  posts,
} from '../../posts/index.ts'
import type { SeriesRow } from './tables.ts'

/** States of targets that nothing was published of, and nothing is being published. */
const UNSTARTED: readonly TargetStatus[] = ['draft', 'in_review', 'ready', 'scheduled', 'failed', 'missed', 'cancelled']

/** Whether the publication of a post has not begun. */
export function isUnstarted({ targets }: LoadedPost): boolean {
  return targets.every((target) => UNSTARTED.includes(target.status) && canAct(target, 'delete'))
}

/** Deletes the posts of a series from an occurrence on. Those whose publication has begun stay. */
export async function removeOccurrences(turn: Turn, { id }: SeriesRow, from: string, now: number): Promise<void> {
  const loaded = await loadPosts(turn.sql, { seriesId: id, occurrence: atLeast<string | null>(from), deletedAt: null })
  for (const one of loaded) if (isUnstarted(one)) await remove(turn, one, now)
}

/**
 * Deletes the post of an occurrence, if it is made.
 * @throws AppError post_state_conflict if its publication has begun
 */
export async function removeOccurrence(turn: Turn, { id }: SeriesRow, occurrence: string, now: number): Promise<void> {
  const [found] = await loadPosts(turn.sql, { seriesId: id, occurrence, deletedAt: null })
  if (found === undefined) return
  if (!isUnstarted(found)) {
    const status = statusOfPost(found.targets.map((target) => target.status))
    throw notPossible('delete', status, found.targets, 'Its publication has begun.')
  }
  await remove(turn, found, now)
}

/** Deletes a post with its series. Its occurrence can be made again, for instance if it is no longer left out. */
export async function remove(turn: Turn, loaded: LoadedPost, now: number): Promise<void> {
  await posts.update(turn.sql, { id: loaded.post.id }, { seriesId: null, occurrence: null })
  await deletePost(turn, loaded, new Date(now).toISOString())
  turn.emit(postDeleted, { postId: loaded.post.id })
}
