import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import type { LoadedPost } from './store.ts'
import { postSegments, postTargets, type SegmentStatus } from './tables.ts'

/**
 * Targets that are being published and whose publishing call may have been made. Locks the targets of the post, so that
 * its publishers wait, and are fenced if the turn takes their target from them.
 */
export async function calledTargets(turn: Turn, { post, targets }: LoadedPost): Promise<ReadonlySet<string>> {
  const busy = targets.filter(({ status }) => status === 'publishing').map(({ id }) => id)
  if (busy.length === 0) return new Set()
  await lockTargets(turn, post.id)
  const made: readonly SegmentStatus[] = ['calling', 'published']
  const rows = await postSegments.find(
    turn.sql,
    { targetId: anyOf(busy), status: anyOf(made as SegmentStatus[]) },
    { columns: ['targetId'] },
  )
  return new Set(rows.map(({ targetId }) => targetId))
}

/** Locks the targets of a post. Attempts lock a target before its segments, so that nobody may lock segments first. */
export async function lockTargets(turn: Turn, postId: string): Promise<void> {
  await postTargets.find(turn.sql, { postId }, { columns: ['id'], lock: 'for update' })
}
