import { ValidationFailed } from '../../../core/errors.ts'
import type { NewPostInput } from '../posts/index.ts'

/** Whether a new post asks for a time, so that a time zone is needed. */
export function hasTime({ publishNow, queue, scheduledFor, targets = [] }: NewPostInput): boolean {
  return (
    publishNow === true ||
    scheduledFor != null ||
    queue !== undefined ||
    targets.some(({ override }) => override?.scheduledFor != null)
  )
}

/** @throws AppError validation_failed if a new post asks for several times */
export function requireOneTime({ draft, publishNow, queue, scheduledFor }: NewPostInput): void {
  const times = [
    publishNow === true && 'publishNow',
    scheduledFor != null && 'scheduledFor',
    queue !== undefined && 'queue',
    draft === true && 'draft',
  ].filter((name) => name !== false)
  if (times.length < 2) return
  const message = `cannot be combined with ${times[0]}`
  throw ValidationFailed({ errors: [{ path: `/body/${times[1]}`, code: 'conflict', message }] })
}

/** @throws AppError validation_failed if a post with a time has no account */
export function requireTargets(wanted: readonly unknown[]): void {
  if (wanted.length > 0) return
  const message = 'must name at least one account, because the post has a time'
  throw ValidationFailed({ errors: [{ path: '/body/targets', code: 'required', message }] })
}
