import type { LoadedPost } from './store.ts'
import type { PostSnapshot } from './tables.ts'

/** Everything of a post that is subject to versions. */
export function snapshotOf({ post, targets }: LoadedPost): PostSnapshot {
  const { body, labels, lateMinutes, localTime, scheduledAt, timeZone } = post
  return {
    ...body,
    labels,
    lateMinutes,
    localTime,
    timeZone,
    scheduledAt,
    targets: targets.map(({ accountId, override, ownTime, scheduledAt: own }) => {
      return { accountId, override, scheduledAt: ownTime ? own : null }
    }),
  }
}
