import type { WantedTarget } from './new-target.ts'
import type { PostChangeInput, LoadedPost } from '../posts/index.ts'
import { PUBLISH, requireToCome, type PlannedTime } from './time.ts'

/** The times of a post after a change. */
interface NewTimes {
  readonly input: Pick<PostChangeInput, 'scheduledFor' | 'targets'>
  readonly time: PlannedTime | null
  readonly wanted: readonly WantedTarget[]
}

/**
 * Refuses new times of a post that have passed. A client may send back those that the post and its accounts have.
 * @param now ISO 8601
 * @throws AppError validation_failed
 */
export function requireNewTimesToCome(
  { post, targets }: LoadedPost,
  { input, time, wanted }: NewTimes,
  now: string,
): void {
  if (input.scheduledFor !== undefined && !isTimeOf(post, time)) requireToCome(time, now, PUBLISH)
  if (input.targets === undefined) return
  const known = new Map(targets.map((target) => [target.accountId, target]))
  for (const [index, { accountId, ownTime, time: own }] of wanted.entries()) {
    const old = known.get(accountId)
    if (!ownTime || (old !== undefined && isTimeOf(old, own))) continue
    requireToCome(own, now, PUBLISH, `/body/targets/${index}/override`)
  }
}

function isTimeOf({ scheduledAt }: { readonly scheduledAt: string | null }, time: PlannedTime | null): boolean {
  return scheduledAt === (time?.scheduledAt ?? null)
}
