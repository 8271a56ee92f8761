import type { Turn } from '../../../../core/turn.ts'
import { notify } from '../../../talk/notifications/index.ts'
import {
  postFailed,
  postPublished,
  postUnconfirmed,
  postName,
  statusOfPost,
  type LoadedPost,
  type TargetRow,
} from '../../posts/index.ts'

const BAD: readonly TargetRow['status'][] = ['failed', 'missed', 'partial']

/** Tells who created a post what has become of it at its accounts. */
export function notifyOutcomes(turn: Turn, before: LoadedPost, { post, targets }: LoadedPost): void {
  const to = [post.createdBy]
  const data = { postId: post.id, post: postName(post.body) }
  const old = new Map(before.targets.map(({ id, status }) => [id, status]))
  for (const { id, problem, status } of targets) {
    if (status === old.get(id)) continue
    const reason = `${problem?.message ?? ''} ${problem?.nextStep ?? ''}`.trim()
    if (BAD.includes(status)) notify(turn, postFailed, { to, data: { ...data, reason } })
    if (status === 'unconfirmed') notify(turn, postUnconfirmed, { to, data: { ...data, reason } })
  }
  const statusOf = (all: readonly TargetRow[]) => statusOfPost(all.map(({ status }) => status))
  const isPublished = statusOf(targets) === 'published' && statusOf(before.targets) !== 'published'
  if (isPublished) notify(turn, postPublished, { to, data })
}
