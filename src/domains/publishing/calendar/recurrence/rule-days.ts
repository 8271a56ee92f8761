import { DAY, HOUR, MINUTE, SECOND } from '../../../../core/clock.ts'
import { LAST_LOCAL, startOfLocalDay, weekdayOf } from '../time/local-time.ts'
import { WEEKDAYS, withDays, type RecurrenceRule } from './recurrence-rule.ts'

/**
 * The maximum number of days that one search looks at: 54 years of a daily rule. Rules that skip days look at fewer: of
 * a yearly rule with BYMONTH, a month that is left out counts as one day.
 */
export const MAX_DAYS = 20_000

/** Counts the days that a search looks at, so that its cost has a bound, however few occurrences a rule has. */
export class DayBudget {
  spent = 0

  get isSpent(): boolean {
    return this.spent >= MAX_DAYS
  }
}

/** A rule with the parts that RFC 5545 takes from the first occurrence. Local times are as in `local-time.ts`. */
export interface Pattern {
  readonly frequency: RecurrenceRule['frequency']
  readonly interval: number
  /** Midnight of the first occurrence. */
  readonly first: number
  /** 1 to 12. Empty for all. */
  readonly months: ReadonlySet<number>
  /** Negative ones are counted from the end of the month. Empty for all. */
  readonly monthDays: readonly number[]
  /** With the place in the month or year, or 0 for all of them. The first weekday is Monday, 0. Empty for all. */
  readonly weekdays: readonly { readonly place: number; readonly weekday: number }[]
  /** Times of day in order, in milliseconds after midnight. */
  readonly times: readonly number[]
  readonly positions: readonly number[]
  /** The weekday that weeks begin with. */
  readonly weekStart: number
}

/** @param anchor the first occurrence */
export function patternOf(rule: RecurrenceRule, anchor: number): Pattern {
  const { months, monthDays } = withDays(rule, anchor)
  const first = startOfLocalDay(anchor)
  const at = new Date(anchor)
  const hours = rule.hours.length > 0 ? rule.hours : [at.getUTCHours()]
  const minutes = rule.minutes.length > 0 ? rule.minutes : [at.getUTCMinutes()]
  const seconds = at.getUTCSeconds() * SECOND
  const weekdays = rule.weekdays.map((text) => ({
    place: Number(text.slice(0, -2)),
    weekday: WEEKDAYS.indexOf(text.slice(-2)),
  }))
  const isImplied = rule.frequency === 'WEEKLY' && weekdays.length === 0
  return {
    frequency: rule.frequency,
    interval: rule.interval,
    first,
    months: new Set(months),
    monthDays,
    weekdays: isImplied ? [{ place: 0, weekday: weekdayOf(first) }] : weekdays,
    times: hours.flatMap((hour) => minutes.map((minute) => hour * HOUR + minute * MINUTE + seconds)),
    positions: rule.positions,
    weekStart: rule.weekStart === null ? 0 : WEEKDAYS.indexOf(rule.weekStart),
  }
}

/**
 * The local times of a rule in order, from the period of `from` on, which can have earlier ones. Ends at the end of
 * 2100, or when the budget is spent. A day that a month does not have is its last day.
 */
export function* localTimes(pattern: Pattern, from: number, budget: DayBudget): Generator<number> {
  const months = new MonthCursor()
  for (const [start, end] of periods(pattern, startOfLocalDay(Math.max(from, pattern.first)))) {
    const days = namedDays(pattern, start, end, { months, budget })
    if (days.length === 0 && !budget.isSpent) continue
    // Of a period that was not looked at as a whole, BYSETPOS would choose other times.
    if (budget.isSpent) return
    for (const local of chosen(pattern, days)) {
      if (local > LAST_LOCAL) return
      yield local
    }
  }
}

/** The periods of a rule from the one of a day on: their first days, and the days after their last ones. */
function* periods(pattern: Pattern, from: number): Generator<[number, number]> {
  const { first, frequency, interval, positions, weekStart } = pattern
  // Every day of a month in one period: it names the same days, and skips months that the rule leaves out.
  if (frequency === 'DAILY' && interval === 1 && positions.length === 0) {
    for (let at = from, month = monthOf(from) + 1; at <= LAST_LOCAL; at = startOfMonth(month), month += 1)
      yield [at, startOfMonth(month)]
    return
  }
  if (frequency === 'DAILY' || frequency === 'WEEKLY') {
    const length = frequency === 'DAILY' ? DAY : 7 * DAY
    const start = frequency === 'DAILY' ? first : first - ((weekdayOf(first) - weekStart + 7) % 7) * DAY
    const step = interval * length
    for (let at = start + Math.floor((from - start) / step) * step; at <= LAST_LOCAL; at += step)
      yield [at, at + length]
    return
  }
  const length = frequency === 'MONTHLY' ? 1 : 12
  const start = monthOf(first) - (monthOf(first) % length)
  const step = interval * length
  for (let month = start + Math.floor((monthOf(from) - start) / step) * step; ; month += step) {
    const at = startOfMonth(month)
    if (at > LAST_LOCAL) return
    yield [at, startOfMonth(month + length)]
  }
}

/** The days from `start` to before `end` that a rule names. */
function namedDays(
  pattern: Pattern,
  start: number,
  end: number,
  { budget, months }: { readonly months: MonthCursor; readonly budget: DayBudget },
): number[] {
  const days: number[] = []
  let day = start
  while (day < end && !budget.isSpent) {
    budget.spent += 1
    const month = months.at(day)
    if (pattern.months.size > 0 && !pattern.months.has(month.number)) {
      day = month.end
      continue
    }
    if (isMonthDay(pattern.monthDays, day, month) && isWeekday(pattern, day, month)) days.push(day)
    day += DAY
  }
  return days
}

/** The times of the days of a period, or those of them that BYSETPOS chooses. */
function chosen({ positions, times }: Pattern, days: readonly number[]): readonly number[] {
  const all = days.flatMap((day) => times.map((time) => day + time))
  if (positions.length === 0) return all
  const places = positions.map((position) => (position > 0 ? position - 1 : all.length + position))
  return [...new Set(places)].toSorted((a, b) => a - b).flatMap((place) => all[place] ?? [])
}

const WEEK = 7 * DAY

interface Month {
  /** 1 to 12. */
  readonly number: number
  /** Its first day, and the first day of the next month. */
  readonly start: number
  readonly end: number
  readonly yearStart: number
  readonly yearEnd: number
}

/** The month of a day. Days come in order, so the month is nearly always the one of the day before. */
class MonthCursor {
  #month: Month | undefined

  at(day: number): Month {
    if (this.#month === undefined || day >= this.#month.end) {
      const month = monthOf(day)
      const year = month - (month % 12)
      this.#month = {
        number: (month % 12) + 1,
        start: startOfMonth(month),
        end: startOfMonth(month + 1),
        yearStart: startOfMonth(year),
        yearEnd: startOfMonth(year + 12),
      }
    }
    return this.#month
  }
}

/** Months since the year 0. */
function monthOf(local: number): number {
  const date = new Date(local)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

function startOfMonth(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1)
}

function isMonthDay(monthDays: readonly number[], day: number, { end, start }: Month): boolean {
  if (monthDays.length === 0) return true
  const length = (end - start) / DAY
  const date = (day - start) / DAY + 1
  for (const one of monthDays) if (date === (one > 0 ? Math.min(one, length) : length + 1 + one)) return true
  return false
}

/** A place counts the weekdays of the month, or those of the year in a yearly rule without BYMONTH. */
function isWeekday({ frequency, months, weekdays }: Pattern, day: number, month: Month): boolean {
  if (weekdays.length === 0) return true
  const weekday = weekdayOf(day)
  const isOfYear = frequency === 'YEARLY' && months.size === 0
  for (const one of weekdays) {
    if (one.weekday !== weekday) continue
    if (one.place === 0) return true
    const before = day - (isOfYear ? month.yearStart : month.start)
    const after = (isOfYear ? month.yearEnd : month.end) - day
    if (one.place === (one.place > 0 ? Math.floor(before / WEEK) + 1 : -Math.ceil(after / WEEK))) return true
  }
  return false
}
