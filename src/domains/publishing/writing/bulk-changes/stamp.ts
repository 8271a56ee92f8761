import { createHash } from 'node:crypto'
import type { LoadedPost } from '../../posts/index.ts'
import { TARGET_FIELDS, type PostBefore } from './tables.ts'

/** Tells whether a post is still as a bulk change has left it: its version, labels, and what its targets are doing. */
export function stampOf({ post, targets }: LoadedPost): string {
  const seen = [
    post.version,
    post.labels,
    post.approval?.status,
    post.approval?.opening,
    post.approval?.decisions.length,
    targets.map(({ attemptId, id, plan, scheduledAt, status }) => [id, status, plan, scheduledAt, attemptId]),
  ]
  return createHash('sha256').update(JSON.stringify(seen)).digest('base64url')
}

/** What restores a post after a bulk change. */
export function beforeOf(before: LoadedPost, after: LoadedPost): PostBefore {
  const { adjustment, approval, id, labels, localTime, scheduledAt, timeZone } = before.post
  return {
    postId: id,
    stamp: stampOf(after),
    post: { labels, localTime, timeZone, scheduledAt, adjustment, approval },
    targets: before.targets.map(
      (target) => Object.fromEntries(['id' as const, ...TARGET_FIELDS].map((field) => [field, target[field]])) as never,
    ),
  }
}
