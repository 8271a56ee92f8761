import { MINUTE } from '../../../core/clock.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import type { PostFacts } from '../posts/index.ts'
import { type TimeAdjustment, scheduledTime } from '../calendar/index.ts'

/** A time as it is stored: the wall clock, its IANA zone, and the instant derived from them. */
export interface PlannedTime {
  /** `2026-11-30T09:00:00`. */
  readonly localTime: string
  readonly timeZone: string
  /** ISO 8601, UTC. */
  readonly scheduledAt: string
  readonly adjustment: TimeAdjustment | null
}

/**
 * Reads a time of a request.
 * @param scheduledFor an instant with an offset, or a local time without one
 * @param timezone IANA zone of a local time, and the zone in which an instant is shown
 * @param path of the object that has the field, for the error
 * @throws AppError validation_failed
 */
export function plannedTime(scheduledFor: string, timezone: string, path = '/body'): PlannedTime {
  const read = scheduledTime({ scheduledFor, timezone }, timezone)
  if (!read.ok) {
    const { code, field, message } = read.problem
    throw ValidationFailed({ errors: [{ path: `${path}/${field}`, code, message }] })
  }
  const { adjustment, instant, timezone: timeZone, wallClock } = read.value
  return { localTime: wallClock, timeZone, scheduledAt: instant.toISOString(), adjustment }
}

/** What publishes a stored post now. */
export const PUBLISH = 'POST /api/posts/{id}/publish'

/** How far in the past a time may be: requests take a while, and clocks of clients are late. */
export const PAST_MINUTES = 5

/**
 * Refuses a time of a request that has passed. It would publish the post at once, which a mistyped year or a file that
 * is imported twice does not mean.
 * @param now ISO 8601
 * @param instead what publishes the post now
 * @param path of the object that has the field
 * @throws AppError validation_failed
 */
export function requireToCome(
  time: Pick<PlannedTime, 'scheduledAt'> | null,
  now: string,
  instead: string,
  path = '/body',
): void {
  if (time === null || Date.parse(time.scheduledAt) >= Date.parse(now) - PAST_MINUTES * MINUTE) return
  const message = `must not be in the past: it is ${time.scheduledAt}, and now it is ${now}. Choose a later time, or publish the post now with ${instead}`
  throw ValidationFailed({ errors: [{ path: `${path}/scheduledFor`, code: 'time_in_past', message }] })
}

/** The stored time of a post or target. */
export function timeOfPost(
  row: Pick<PostFacts, 'localTime' | 'timeZone' | 'scheduledAt' | 'adjustment'>,
): PlannedTime | null {
  const { adjustment, localTime, scheduledAt, timeZone } = row
  if (localTime === null || timeZone === null || scheduledAt === null) return null
  return { localTime, timeZone, scheduledAt, adjustment }
}
