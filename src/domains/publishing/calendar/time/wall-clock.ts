import { DAY, SECOND } from '../../../../core/clock.ts'
import { parseInstant } from '../../../../core/instant.ts'
import { FIRST_YEAR, LAST_YEAR, formatDate, formatLocal, formatTime, isInRange, parseLocal } from './local-time.ts'
import { accepted, refused, type Outcome } from './outcome.ts'
import type { TimeAdjustment } from './schemas.ts'
import { checkTimeZone, zoneRules, type ZoneRules } from './zones.ts'

/** A scheduled time: what people asked for, and the instant that follows from it by the rules of the zone. */
export interface ScheduledTime {
  /** Local date and time in the zone, `YYYY-MM-DDTHH:MM:SS`, as it was asked for. */
  readonly wallClock: string
  readonly timezone: string
  readonly instant: Date
  /** How the local time was adjusted, or null. See `TimeAdjustment` for the rules. */
  readonly adjustment: TimeAdjustment | null
}

/** The instant of a local time, and the local time that a clock shows then. */
export interface Resolved {
  readonly instant: number
  /** Like the local time that was given, but later if that one does not exist. */
  readonly used: number
  readonly kind: 'gap' | 'overlap' | null
}

/**
 * The instant of a local time. One that does not exist moves forward by the length of the gap; of one that occurs
 * twice, the first is taken. These are the rules of `TimeAdjustment`, and of `disambiguation: 'compatible'` in Temporal.
 */
export function resolveLocal(local: number, timezone: string, rules: ZoneRules = zoneRules): Resolved {
  // Offsets are at most 14 hours from UTC, so a day to either side is before and after any change near the local time.
  const before = rules.offsetAt(timezone, local - DAY)
  const after = rules.offsetAt(timezone, local + DAY)
  if (before === after) return { instant: local - before, used: local, kind: null }
  const early = local - before
  const late = local - after
  const earlyFits = rules.offsetAt(timezone, early) === before
  const lateFits = rules.offsetAt(timezone, late) === after
  if (earlyFits && lateFits) return { instant: Math.min(early, late), used: local, kind: 'overlap' }
  if (earlyFits || lateFits) return { instant: earlyFits ? early : late, used: local, kind: null }
  return { instant: early, used: local + after - before, kind: 'gap' }
}

/** The local time that a clock in a zone shows at an instant. */
export function localAt(instant: number, timezone: string, rules: ZoneRules = zoneRules): number {
  return instant + rules.offsetAt(timezone, instant)
}

/** Resolves a local time and describes the adjustment. `requested` may be a day that does not exist in its month. */
export function schedule(
  local: number,
  timezone: string,
  rules: ZoneRules = zoneRules,
  requested: string = formatLocal(local),
): ScheduledTime {
  const resolved = resolveLocal(local, timezone, rules)
  return {
    wallClock: formatLocal(local),
    timezone,
    instant: new Date(resolved.instant),
    adjustment: adjustmentOf(local, resolved, timezone, requested),
  }
}

function adjustmentOf(
  local: number,
  { used, kind, instant }: Resolved,
  timezone: string,
  requested: string,
): TimeAdjustment | null {
  const wallClock = formatLocal(local)
  const isShort = requested !== wallClock
  if (kind === null && !isShort) return null
  const sentences: string[] = []
  if (isShort) {
    sentences.push(
      `${requested.slice(0, 10)} does not exist, because the month ends on day ${wallClock.slice(8, 10)}. The post goes out on ${wallClock.slice(0, 10)}.`,
    )
  }
  const time = `${formatTime(local)} on ${formatDate(local)}`
  if (kind === 'gap') {
    const to = formatDate(used) === formatDate(local) ? formatTime(used) : `${formatTime(used)} on ${formatDate(used)}`
    sentences.push(`${time} does not exist in ${timezone}, because clocks go forward. The post goes out at ${to}.`)
  }
  if (kind === 'overlap') {
    sentences.push(
      `${time} occurs twice in ${timezone}, because clocks go back. The post goes out at the first of the two, ${new Date(instant).toISOString()}.`,
    )
  }
  return {
    kind: kind ?? 'short_month',
    requestedTime: requested,
    usedTime: formatLocal(used),
    message: sentences.join(' '),
  }
}

const WITH_OFFSET = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i

/**
 * Reads a scheduled time as clients send it:
 *
 * - with an offset or Z (`2026-03-29T02:30:00Z`): that instant. Its wall clock is the local time in `timezone`, or in
 *   the zone of the workspace.
 * - without an offset (`2026-03-29T02:30`): local time, which needs `timezone`. The zone of the workspace is not
 *   assumed here, because a client that forgot the offset would post at another hour than it meant.
 *
 * Fractions of a second are dropped.
 */
export function scheduledTime(
  input: { readonly scheduledFor: string; readonly timezone?: string | null | undefined },
  workspaceTimezone: string,
  rules: ZoneRules = zoneRules,
): Outcome<ScheduledTime> {
  const text = input.scheduledFor
  const zone = checkTimeZone(input.timezone ?? workspaceTimezone)
  if (!zone.ok) return zone
  const [, minutes, seconds = ':00', offset] = WITH_OFFSET.exec(text) ?? []
  if (minutes !== undefined) {
    const at = parseInstant(`${minutes}${seconds}${offset}`)
    if (at === undefined)
      return refused('scheduledFor', 'invalid_time', `"${text}" is not a date and time that exists.`)
    return fromInstant(at, zone.value, rules)
  }
  const local = parseLocal(text)
  if (local === undefined) return refused('scheduledFor', 'invalid_time', notATime(text))
  if (input.timezone === null || input.timezone === undefined) {
    return refused(
      'timezone',
      'timezone_required',
      `"${text}" has no offset. Add timezone, such as ${workspaceTimezone}, or an offset to the time, such as ${text}Z.`,
    )
  }
  return isInRange(local) ? accepted(schedule(local, zone.value, rules)) : outOfRange()
}

/** The scheduled time of an instant. Nothing is adjusted, whatever clocks do at that time. */
export function fromInstant(at: Date, timezone: string, rules: ZoneRules = zoneRules): Outcome<ScheduledTime> {
  const instant = Math.floor(at.getTime() / SECOND) * SECOND
  const local = localAt(instant, timezone, rules)
  if (!isInRange(local)) return outOfRange()
  return accepted({ wallClock: formatLocal(local), timezone, instant: new Date(instant), adjustment: null })
}

/** A scheduled time after the rules of its zone may have changed. */
export interface Rederived extends ScheduledTime {
  /** What moved, or null if the instant is still right. */
  readonly moved: { readonly from: Date; readonly to: Date; readonly message: string } | null
}

/**
 * Derives the instant of a stored time again, after a change of tzdata. The wall clock stays; the instant may move. If
 * the local time occurs twice and the stored instant is one of the two, it is kept: a client can have asked for the
 * second one by its offset.
 */
export function rederive(
  stored: { readonly wallClock: string; readonly timezone: string; readonly instant: Date },
  rules: ZoneRules = zoneRules,
): Rederived {
  const { wallClock, timezone, instant } = stored
  const local = parseLocal(wallClock)
  if (local === undefined) throw new Error(`Not a wall clock: ${wallClock}`)
  const derived = schedule(local, timezone, rules)
  if (derived.instant.getTime() === instant.getTime()) return { ...derived, moved: null }
  if (localAt(instant.getTime(), timezone, rules) === local) {
    return { wallClock, timezone, instant, adjustment: null, moved: null }
  }
  const message = `The rules of ${timezone} have changed. ${formatTime(local)} on ${formatDate(local)} is now ${derived.instant.toISOString()}, and was ${instant.toISOString()}.`
  return { ...derived, moved: { from: instant, to: derived.instant, message } }
}

function outOfRange() {
  return refused('scheduledFor', 'time_out_of_range', `The year must be from ${FIRST_YEAR} to ${LAST_YEAR}.`)
}

function notATime(text: string): string {
  return `"${text.slice(0, 64)}" is not a date and time. Write 2026-11-30T09:00:00Z, 2026-11-30T09:00:00+01:00, or 2026-11-30T09:00:00 with timezone.`
}
