import { DAY, SECOND } from '../../../../core/clock.ts'
import { formatDate, parseDate } from './local-time.ts'
import { localAt, resolveLocal } from './wall-clock.ts'
import { zoneRules, type ZoneRules } from './zones.ts'

/** The local day of an instant, `YYYY-MM-DD`. Limits per day are counted by it. */
export function dayKey(instant: Date, timezone: string, rules: ZoneRules = zoneRules): string {
  return formatDate(localAt(instant.getTime(), timezone, rules))
}

/**
 * When a local day begins and ends. It has 23 or 25 hours when clocks change, and none if the zone skips it
 * (Pacific/Apia on 2011-12-30).
 */
export function dayBounds(day: string, timezone: string, rules: ZoneRules = zoneRules): { start: Date; end: Date } {
  const midnight = midnightOf(day)
  return {
    start: new Date(startOfDay(midnight, timezone, rules)),
    end: new Date(startOfDay(midnight + DAY, timezone, rules)),
  }
}

/**
 * The first day from `day` on on which fewer posts are planned than a limit allows.
 * @param used how many are planned on a day
 * @returns undefined if `horizonDays` days have no room
 */
export function nextDayWithRoom(
  day: string,
  options: { readonly limit: number; readonly horizonDays: number; readonly used: (day: string) => number },
): string | undefined {
  const first = midnightOf(day)
  for (let ahead = 0; ahead < options.horizonDays; ahead += 1) {
    const key = formatDate(first + ahead * DAY)
    if (options.used(key) < options.limit) return key
  }
  return undefined
}

/** The first instant of a day. If midnight does not exist, the day begins when clocks go forward. */
function startOfDay(midnight: number, timezone: string, rules: ZoneRules): number {
  const { instant, kind } = resolveLocal(midnight, timezone, rules)
  if (kind !== 'gap') return instant
  let low = instant - 2 * DAY
  let high = instant
  while (high - low > SECOND) {
    const middle = Math.floor((low + high) / 2 / SECOND) * SECOND
    if (localAt(middle, timezone, rules) < midnight) low = middle
    else high = middle
  }
  return high
}

function midnightOf(day: string): number {
  const midnight = parseDate(day)
  if (midnight === undefined) throw new Error(`Not a day: ${day}`)
  return midnight
}
