import { DAY, HOUR } from '../../../../core/clock.ts'
import { inOrder } from '../time/in-order.ts'
import { formatDate, formatLocal, isInRange, parseDate, parseLocal } from '../time/local-time.ts'
import { accepted, refused, type Outcome } from '../time/outcome.ts'
import { parseRule, type RecurrenceRule, type Until } from './recurrence-rule.ts'
import { DayBudget, MAX_DAYS, localTimes, patternOf, type Pattern } from './rule-days.ts'
import { localAt, schedule, type ScheduledTime } from '../time/wall-clock.ts'
import { checkTimeZone, zoneRules, type ZoneRules } from '../time/zones.ts'

/**
 * A recurrence that was checked. The first occurrence is the post itself (`DTSTART`), whether the rule matches it or
 * not, and counts for COUNT. The rule is applied to the wall clock of the post, and each occurrence is then placed in
 * the zone by the rules of `TimeAdjustment`, so that none is silently skipped:
 *
 * - A day that a month does not have (31, 30, or 29 February) is the last day of that month, once.
 * - A missing hour moves forward by the length of the gap.
 * - Two occurrences never fall on the same instant.
 * - `BYDAY=5FR` is the fifth Friday of the months that have one. `-1FR` is the last Friday of every month.
 */
export interface Recurrence {
  /** The wall clock of the first occurrence, in milliseconds as in `local-time.ts`. */
  readonly anchor: number
  readonly timezone: string
  readonly rule: RecurrenceRule
  readonly pattern: Pattern
  /** Local times that are left out. */
  readonly excluded: ReadonlySet<number>
  /** Days on which every occurrence is left out, as local times of their midnights. */
  readonly excludedDays: ReadonlySet<number>
  /** Local times that are added, in order. */
  readonly added: readonly number[]
}

/** One occurrence, which becomes a post. */
export interface Occurrence extends ScheduledTime {
  /**
   * Identifies the occurrence within its recurrence, even if a change of the zone's rules moves it: its wall clock
   * before a missing hour is moved.
   */
  readonly key: string
}

/** What clients send. */
export interface RecurrenceInput {
  readonly rrule: string
  /** Dates or local times that are left out (EXDATE). They count for COUNT. */
  readonly exdates?: readonly string[] | undefined
  /** Local times that are added (RDATE). They do not count for COUNT. */
  readonly rdates?: readonly string[] | undefined
}

export interface Occurrences {
  readonly occurrences: readonly Occurrence[]
  /**
   * Why there are no more occurrences, or null if there are. `horizon`: there is none before the end of 2100, or it is
   * too rare to be found within `MAX_DAYS`.
   */
  readonly ended: 'count' | 'until' | 'horizon' | null
  /** What the search cost. */
  readonly daysLookedAt: number
}

/** The maximum number of exceptions, and of added times. */
export const MAX_EXCEPTIONS = 500

/**
 * Reads a recurrence.
 * @param anchor the wall clock of the post, `YYYY-MM-DDTHH:MM[:SS]`
 */
export function parseRecurrence(
  input: RecurrenceInput,
  anchor: { readonly wallClock: string; readonly timezone: string },
): Outcome<Recurrence> {
  const start = parseLocal(anchor.wallClock)
  if (start === undefined)
    return refused('scheduledFor', 'invalid_time', 'A recurrence needs the time of the first post.')
  const zone = checkTimeZone(anchor.timezone)
  if (!zone.ok) return zone
  const rule = parseRule(input.rrule)
  if (!rule.ok) return rule
  if (past(rule.value.until, start, zone.value, zoneRules) > 0) {
    return refused('rrule', 'rrule_never_matches', `UNTIL is before the first post at ${formatLocal(start)}.`)
  }
  const exceptions = parseExceptions(input.exdates ?? [])
  if (!exceptions.ok) return exceptions
  const added = parseAdded(input.rdates ?? [])
  if (!added.ok) return added
  const recurrence: Recurrence = {
    anchor: start,
    timezone: zone.value,
    rule: rule.value,
    pattern: patternOf(rule.value, start),
    added: added.value,
    ...exceptions.value,
  }
  const never = neverMatches(recurrence)
  return never === undefined ? accepted(recurrence) : refused('rrule', 'rrule_never_matches', never)
}

/**
 * The next occurrences.
 * @param options.after only occurrences later than this instant. All occurrences by default
 * @param options.limit how many
 */
export function occurrences(
  recurrence: Recurrence,
  options: { readonly after?: Date | undefined; readonly limit: number },
  rules: ZoneRules = zoneRules,
): Occurrences {
  const after = options.after?.getTime() ?? Number.NEGATIVE_INFINITY
  const found: Occurrence[] = []
  const budget = new DayBudget()
  for (const occurrence of inOrder(placed(recurrence, after, rules, budget))) {
    if (occurrence.instant.getTime() <= after) continue
    if (found.length >= options.limit) return { occurrences: found, ended: null, daysLookedAt: budget.spent }
    found.push(occurrence)
  }
  return { occurrences: found, ended: whyEnded(recurrence.rule, budget), daysLookedAt: budget.spent }
}

function whyEnded({ count, until }: RecurrenceRule, budget: DayBudget): Occurrences['ended'] {
  if (budget.isSpent) return 'horizon'
  return count !== null ? 'count' : until !== null ? 'until' : 'horizon'
}

/** Occurrences in the order of their wall clocks, from somewhat before `after` on. */
function* placed(recurrence: Recurrence, after: number, rules: ZoneRules, budget: DayBudget): Generator<Occurrence> {
  const { timezone, excluded, excludedDays } = recurrence
  // A missing hour can move an occurrence by a day (Pacific/Apia in 2011), so occurrences of a day before matter.
  const from = Number.isFinite(after) ? localAt(after, timezone, rules) - DAY - HOUR : Number.NEGATIVE_INFINITY
  let last: number | undefined
  for (const local of merged(ruled(recurrence, from, rules, budget), recurrence.added)) {
    if (local === last || local < from || !isInRange(local)) continue
    last = local
    if (excluded.has(local) || excludedDays.has(Math.floor(local / DAY) * DAY)) continue
    const time = schedule(local, timezone, rules, requestedFor(recurrence, local))
    yield { ...time, key: time.wallClock }
  }
}

/** The local times of the rule, with the anchor first, bounded by COUNT and UNTIL. */
function* ruled(recurrence: Recurrence, from: number, rules: ZoneRules, budget: DayBudget): Generator<number> {
  const { anchor, rule, timezone } = recurrence
  // COUNT is counted from the first occurrence, so all before `from` have to be found too.
  const start = rule.count === null ? Math.max(anchor, from) : anchor
  let count = 0
  let last: number | undefined
  for (const local of merged(start === anchor ? [anchor] : [], localTimes(recurrence.pattern, start, budget))) {
    if (local === last || local < start) continue
    last = local
    const beyond = local === anchor ? 0 : past(rule.until, local, timezone, rules)
    // A missing hour is moved past a later one, so only more than a day beyond UNTIL is certainly the end.
    if (beyond > DAY) return
    if (beyond > 0) continue
    yield local
    count += 1
    if (count === rule.count) return
  }
}

/** How far a local time is after UNTIL, in milliseconds. Negative before it. */
function past(until: Until | null, local: number, timezone: string, rules: ZoneRules): number {
  if (until === null) return Number.NEGATIVE_INFINITY
  if (until.kind === 'local') return local - until.local
  // Zones are at most a day from UTC, so times far from the end need no look at the rules of the zone.
  const distance = local - until.instant
  if (Math.abs(distance) > 3 * DAY) return distance
  return schedule(local, timezone, rules).instant.getTime() - until.instant
}

/** The explanation, if the rule gives no occurrence but the first one. */
function neverMatches({ anchor, pattern, rule }: Recurrence): string | undefined {
  if (rule.count === 1) return undefined
  const budget = new DayBudget()
  for (const local of localTimes(pattern, anchor, budget)) if (local > anchor) return undefined
  const searched = budget.isSpent ? `the ${MAX_DAYS} days that are looked at` : 'the time up to the end of 2100'
  return `The rule has too few occurrences: none after ${formatDate(anchor)} in ${searched}. Check INTERVAL and the BY parts, which all must match.`
}

/** The date that the rule named, if the month of `local` does not have it. */
function requestedFor({ pattern: { monthDays }, anchor }: Recurrence, local: number): string | undefined {
  if (local === anchor) return undefined
  const date = new Date(local)
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  const day = date.getUTCDate()
  if (day !== lastDay || monthDays.includes(day) || monthDays.includes(-1)) return undefined
  const missing = monthDays.find((one) => one > lastDay)
  const text = formatLocal(local)
  return missing === undefined ? undefined : `${text.slice(0, 8)}${missing}${text.slice(10)}`
}

function parseExceptions(list: readonly string[]): Outcome<Pick<Recurrence, 'excluded' | 'excludedDays'>> {
  if (list.length > MAX_EXCEPTIONS) return tooMany('exdates')
  const excluded = new Set<number>()
  const excludedDays = new Set<number>()
  for (const text of list) {
    const day = parseDate(text)
    const local = parseLocal(text)
    if (day !== undefined) excludedDays.add(day)
    else if (local !== undefined) excluded.add(local)
    else return notLocal('exdates', text, 'a date (2026-12-25) or a local time (2026-12-25T09:00)')
  }
  return accepted({ excluded, excludedDays })
}

function parseAdded(list: readonly string[]): Outcome<readonly number[]> {
  if (list.length > MAX_EXCEPTIONS) return tooMany('rdates')
  const added = new Set<number>()
  for (const text of list) {
    const local = parseLocal(text)
    if (local === undefined || !isInRange(local)) return notLocal('rdates', text, 'a local time (2026-12-25T09:00)')
    added.add(local)
  }
  return accepted([...added].toSorted((a, b) => a - b))
}

function tooMany(field: string) {
  return refused(field, 'too_many_exceptions', `There can be at most ${MAX_EXCEPTIONS}.`)
}

function notLocal(field: string, text: string, form: string) {
  return refused(field, 'invalid_time', `"${text.slice(0, 64)}" must be ${form}, without an offset.`)
}

/** Merges two sorted lists into one. */
function* merged(a: Iterable<number>, b: Iterable<number>): Generator<number> {
  const left = a[Symbol.iterator]()
  const right = b[Symbol.iterator]()
  let one = left.next()
  let other = right.next()
  while (one.done !== true || other.done !== true) {
    if (other.done === true || (one.done !== true && one.value <= other.value)) {
      yield one.value as number
      one = left.next()
    } else {
      yield other.value
      other = right.next()
    }
  }
}
