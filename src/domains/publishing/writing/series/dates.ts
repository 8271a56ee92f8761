import { DAY, SECOND } from '../../../../core/clock.ts'
import {
  formatLocal,
  parseLocal,
  occurrences,
  parseRecurrence,
  type Occurrence,
  type Recurrence,
  localAt,
  schedule,
  zoneRules,
  type ZoneRules,
} from '../../calendar/index.ts'
import type { PlannedTime } from '../../planning/index.ts'
import type { SeriesRow } from './tables.ts'

/** Posts of a series are made this long ahead. */
export const AHEAD_MS = 30 * DAY
/** The maximum number of posts of a series that are made ahead. There is always at least one. */
export const MAX_AHEAD = 31

/** The columns of a series that decide its occurrences. */
export type SeriesRule = Pick<
  SeriesRow,
  'rrule' | 'exdates' | 'rdates' | 'localTime' | 'timeZone' | 'startsFrom' | 'endsBefore'
>

/** The occurrences of a series. */
export class SeriesDates {
  readonly #rule: SeriesRule
  readonly #recurrence: Recurrence
  readonly #zones: ZoneRules

  constructor(rule: SeriesRule, zones: ZoneRules = zoneRules) {
    const { exdates, localTime, rdates, rrule, timeZone } = rule
    const read = parseRecurrence({ rrule, exdates, rdates }, { wallClock: localTime, timezone: timeZone })
    if (!read.ok) throw new Error(`A stored series is not valid: ${read.problem.message}`)
    this.#rule = rule
    this.#recurrence = read.value
    this.#zones = zones
  }

  /** Occurrences later than an instant, in milliseconds since the epoch. */
  after(instant: number, limit: number): readonly Occurrence[] {
    const { endsBefore, startsFrom } = this.#rule
    const from = startsFrom === null ? instant : Math.max(instant, this.instantOf(startsFrom) - 1)
    // Drops occurrences before the start that a gap has moved past it.
    const after = Number.isFinite(from) ? new Date(from) : undefined
    const found = occurrences(this.#recurrence, { after, limit: limit + 1 }, this.#zones).occurrences
    const own = found.filter(({ key }) => startsFrom === null || key >= startsFrom)
    const end = own.findIndex(({ key }) => endsBefore !== null && key >= endsBefore)
    return own.slice(0, end === -1 ? limit : Math.min(end, limit))
  }

  /** The occurrence with a key; undefined if there is none. */
  find(key: string): Occurrence | undefined {
    if (parseLocal(key) === undefined) return undefined
    return this.after(this.instantOf(key) - 1, 2).find((one) => one.key === key)
  }

  /** The first occurrence of all. */
  first(): Occurrence | undefined {
    return this.after(Number.NEGATIVE_INFINITY, 1)[0]
  }

  /** A value of `madeUntil` with which an occurrence and those after it are still to be made. */
  before({ instant }: Occurrence): string {
    return formatLocal(localAt(instant.getTime() - SECOND, this.#rule.timeZone, this.#zones))
  }

  /** When an occurrence is, by the rules of today. */
  instantOf(key: string): number {
    return schedule(parseLocal(key) ?? Number.NaN, this.#rule.timeZone, this.#zones).instant.getTime()
  }
}

/** The time of an occurrence as posts store it. */
export function timeOfOccurrence({ adjustment, instant, timezone, wallClock }: Occurrence): PlannedTime {
  return { localTime: wallClock, timeZone: timezone, scheduledAt: instant.toISOString(), adjustment }
}

/**
 * What has to be made now, in the order of time: what has passed since the last time, the next occurrence, and those of
 * the next 30 days.
 */
export function dueOccurrences(
  dates: SeriesDates,
  madeUntil: string,
  now: number,
): { readonly due: readonly Occurrence[]; readonly dueAt: number | null } {
  const until = dates.instantOf(madeUntil)
  const ahead = dates.after(now, MAX_AHEAD).filter(({ instant }) => instant.getTime() <= until)
  const next = dates.after(until, MAX_AHEAD + 1)
  const due: Occurrence[] = []
  let count = ahead.length
  for (const one of next) {
    const at = one.instant.getTime()
    if (at > now) {
      if (count >= MAX_AHEAD || (count > 0 && at > now + AHEAD_MS)) {
        const first = [...ahead, ...due].find(({ instant }) => instant.getTime() > now)
        const room = count >= MAX_AHEAD ? (first?.instant.getTime() ?? now) : at - AHEAD_MS
        const last = due.at(-1)?.instant.getTime() ?? until
        return { due, dueAt: Math.min(room, last) }
      }
      count += 1
    }
    due.push(one)
  }
  // There may be more than were looked at.
  if (next.length > MAX_AHEAD) return { due, dueAt: now }
  const last = due.at(-1)?.instant.getTime() ?? until
  return { due, dueAt: last > now ? last : null }
}
