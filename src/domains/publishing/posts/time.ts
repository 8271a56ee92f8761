import { ValidationFailed } from '../../../core/errors.ts'
import { Nullable, States, Text, Type, type Static } from '../../../core/schema.ts'

export const TimeAdjustmentSchema = Type.Object(
  {
    kind: States('TimeAdjustmentKind', 'Why a post is published at another clock time than the requested one', {
      gap: 'The clock skips the requested time when daylight saving begins, so the post moves forward by the gap',
      overlap: 'The requested time occurs twice when daylight saving ends. The first one is used',
    }),
    requestedTime: Text(1, 40, { description: 'The requested clock time' }),
    usedTime: Text(1, 40, { description: 'The clock time that is used' }),
    message: Type.String({ description: 'The same for people' }),
  },
  { description: 'Set when daylight saving time has changed the requested time' },
)

/** How the rule for daylight saving time has changed a time. */
export type TimeAdjustment = Static<typeof TimeAdjustmentSchema>
export const AdjustmentView = Nullable(TimeAdjustmentSchema)

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
 * @param timeZone IANA zone of a local time; the zone in which an instant is shown
 * @param path of the field, for the error
 * @throws AppError validation_failed
 */
export function plannedTime(scheduledFor: string, timeZone: string, path = '/body/scheduledFor'): PlannedTime {
  const at = /(?:Z|[+-]\d\d:?\d\d)$/i.test(scheduledFor)
    ? Date.parse(scheduledFor)
    : localInstant(scheduledFor, timeZone)
  if (Number.isNaN(at)) throw ValidationFailed({ errors: [{ path, code: 'time', message: 'must be a date and time' }] })
  return { localTime: wallClock(at, timeZone), timeZone, scheduledAt: new Date(at).toISOString(), adjustment: null }
}

function localInstant(text: string, zone: string): number {
  const utc = Date.parse(`${text}Z`)
  return utc - (Date.parse(`${wallClock(utc, zone)}Z`) - utc)
}

function wallClock(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
    .format(at)
    .replace(' ', 'T')
}
