import { parseDate, parseLocal } from '../time/local-time.ts'
import { accepted, refused, type Outcome } from '../time/outcome.ts'

/** When the rule ends, in the three forms of RFC 5545. A date ends at the end of that day; all are inclusive. */
export type Until =
  | { readonly kind: 'local'; readonly local: number }
  | { readonly kind: 'instant'; readonly instant: number }

/** A checked RRULE. Lists are sorted and have no repeats. */
export interface RecurrenceRule {
  readonly frequency: 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY'
  readonly interval: number
  readonly count: number | null
  readonly until: Until | null
  readonly months: readonly number[]
  readonly monthDays: readonly number[]
  readonly weekdays: readonly string[]
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
  readonly positions: readonly number[]
  readonly weekStart: string | null
}

/** The maximum number of occurrences that COUNT can ask for. */
export const MAX_OCCURRENCES = 1_000
const MAX_INTERVAL = 1_000
/** The maximum number of posts of a rule on one day. */
const MAX_TIMES_A_DAY = 24
/** The maximum number of times in one period of a rule, such as a year, that have to be looked at. */
const MAX_CANDIDATES = 800
const MAX_RULE_TEXT = 1_000

const FREQUENCIES = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const
/** The weekdays of rules, from Monday on. */
export const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
const ALLOWED = 'FREQ, INTERVAL, COUNT, UNTIL, BYDAY, BYMONTHDAY, BYMONTH, BYHOUR, BYMINUTE, BYSETPOS and WKST'

/** Parts of RFC 5545 that are refused, with what to write instead. */
const REFUSED: Readonly<Record<string, string>> = {
  BYSECOND: 'BYSECOND is not supported. Posts of a recurrence go out at the second of the first post.',
  BYYEARDAY: 'BYYEARDAY is not supported. Use BYMONTH and BYMONTHDAY.',
  BYWEEKNO: 'BYWEEKNO is not supported. Use BYMONTH and BYDAY, such as BYMONTH=1;BYDAY=2MO.',
  RSCALE: 'RSCALE is not supported. Only the Gregorian calendar is.',
  SKIP: 'SKIP is not supported. A day that a month does not have is always the last day of that month.',
}

const field = 'rrule'
const refuse = (code: string, message: string) => refused(field, code, message)

/** Reads the text of an RRULE, such as `FREQ=MONTHLY;BYDAY=-1FR`. `RRULE:` before it is ignored. */
export function parseRule(text: string): Outcome<RecurrenceRule> {
  if (text.length > MAX_RULE_TEXT) {
    return refuse('rrule_too_long', `The rule is longer than ${MAX_RULE_TEXT} characters.`)
  }
  const parts = partsOf(text)
  if (!parts.ok) return parts
  try {
    return check(parts.value)
  } catch (error) {
    if (error instanceof RuleError) return refuse(error.code, error.message)
    throw error
  }
}

class RuleError extends Error {
  override readonly name = 'RuleError'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

function partsOf(text: string): Outcome<ReadonlyMap<string, string>> {
  const parts = new Map<string, string>()
  for (const part of text
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, '')
    .split(';')) {
    const [name = '', value = '', ...rest] = part.split('=')
    if (value === '' || rest.length > 0) {
      return refuse('invalid_rrule', `"${part}" is not a part of a rule. Write NAME=VALUE, separated by semicolons.`)
    }
    const instead = REFUSED[name]
    if (instead !== undefined) return refuse('unsupported_rrule_part', instead)
    if (!NAMES.has(name)) {
      return refuse('unsupported_rrule_part', `"${name}" is not supported in a rule. Use ${ALLOWED}.`)
    }
    if (parts.has(name)) return refuse('invalid_rrule', `${name} is given twice.`)
    parts.set(name, value)
  }
  return accepted(parts)
}

const NAMES = new Set(ALLOWED.split(/, | and /))

function check(parts: ReadonlyMap<string, string>): Outcome<RecurrenceRule> {
  const frequency = frequencyOf(parts.get('FREQ'))
  const rule: RecurrenceRule = {
    frequency,
    interval: number(parts, 'INTERVAL', 1, MAX_INTERVAL) ?? 1,
    count: number(parts, 'COUNT', 1, MAX_OCCURRENCES) ?? null,
    until: untilOf(parts.get('UNTIL')),
    months: numbers(parts, 'BYMONTH', 1, 12),
    monthDays: numbers(parts, 'BYMONTHDAY', -28, 31),
    weekdays: weekdaysOf(parts.get('BYDAY'), frequency, parts.has('BYMONTH')),
    hours: numbers(parts, 'BYHOUR', 0, 23),
    minutes: numbers(parts, 'BYMINUTE', 0, 59),
    positions: numbers(parts, 'BYSETPOS', -366, 366),
    weekStart: parts.get('WKST') ?? null,
  }
  const wrong = contradiction(rule)
  return wrong === undefined ? accepted(rule) : refuse(...wrong)
}

function contradiction(rule: RecurrenceRule): [code: string, message: string] | undefined {
  if (rule.count !== null && rule.until !== null) return ['invalid_rrule', 'Use COUNT or UNTIL, not both.']
  if (rule.weekStart !== null && !WEEKDAYS.includes(rule.weekStart)) {
    return ['invalid_rrule', 'WKST must be one of MO, TU, WE, TH, FR, SA and SU.']
  }
  if (rule.frequency === 'WEEKLY' && rule.monthDays.length > 0) {
    return ['invalid_rrule', 'BYMONTHDAY cannot be used with FREQ=WEEKLY. Use FREQ=MONTHLY.']
  }
  const { months, monthDays, weekdays, hours, minutes, positions } = rule
  if (timesADay(rule) > MAX_TIMES_A_DAY) {
    return ['rrule_too_frequent', `BYHOUR and BYMINUTE can give at most ${MAX_TIMES_A_DAY} times a day.`]
  }
  const candidates = candidatesOf(rule)
  if (candidates > MAX_CANDIDATES) {
    return ['rrule_too_frequent', `The rule has too many times in one period. Use FREQ=DAILY or FREQ=WEEKLY.`]
  }
  if (positions.some((position) => Math.abs(position) > candidates)) {
    return ['rrule_never_matches', `BYSETPOS chooses from at most ${candidates} times of a period.`]
  }
  if (positions.length > 0 && [months, monthDays, weekdays, hours, minutes].every((list) => list.length === 0)) {
    return ['invalid_rrule', 'BYSETPOS needs another part to choose from, such as BYDAY.']
  }
  return undefined
}

function timesADay({ hours, minutes }: RecurrenceRule): number {
  return Math.max(hours.length, 1) * Math.max(minutes.length, 1)
}

/** An upper bound of the times in one period of a rule. */
function candidatesOf(rule: RecurrenceRule): number {
  const { frequency, weekdays, monthDays, months } = rule
  const inMonth = monthDays.length || (weekdays.length === 0 ? 1 : 31)
  const inYear =
    months.length === 0 && monthDays.length === 0 && weekdays.length > 0 ? 366 : inMonth * (months.length || 12)
  const days = { DAILY: 1, WEEKLY: Math.max(weekdays.length, 1), MONTHLY: inMonth, YEARLY: inYear }[frequency]
  return days * timesADay(rule)
}

function frequencyOf(text: string | undefined): RecurrenceRule['frequency'] {
  if (text === undefined) throw new RuleError('invalid_rrule', 'The rule needs FREQ, such as FREQ=WEEKLY.')
  const frequency = FREQUENCIES.find((one) => one === text)
  if (frequency !== undefined) return frequency
  if (['HOURLY', 'MINUTELY', 'SECONDLY'].includes(text)) {
    throw new RuleError(
      'rrule_too_frequent',
      `FREQ=${text} is not supported: posts recur at most daily. For several times a day, add BYHOUR, such as FREQ=DAILY;BYHOUR=9,15.`,
    )
  }
  throw new RuleError('invalid_rrule', 'FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY.')
}

function number(parts: ReadonlyMap<string, string>, name: string, least: number, most: number): number | undefined {
  const text = parts.get(name)
  return text === undefined ? undefined : integer(name, text, least, most)
}

function numbers(parts: ReadonlyMap<string, string>, name: string, least: number, most: number): readonly number[] {
  const list = parts.get(name)?.split(',') ?? []
  const values = list.map((text) => integer(name, text, least, most))
  if (least < 0 && values.includes(0)) throw new RuleError('invalid_rrule', `${name} cannot be 0.`)
  return [...new Set(values)].toSorted((a, b) => a - b)
}

function integer(name: string, text: string, least: number, most: number): number {
  const value = /^[+-]?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new RuleError('invalid_rrule', `${name} must be a number from ${least} to ${most}, not "${text}".`)
}

function weekdaysOf(text: string | undefined, frequency: string, hasMonths: boolean): readonly string[] {
  const most = frequency === 'YEARLY' && !hasMonths ? 53 : 5
  const days = (text?.split(',') ?? []).map((one) => {
    const [, sign = '', ordinal, day = ''] = /^([+-]?)(\d{1,2})?([A-Z]{2})$/.exec(one) ?? []
    if (!WEEKDAYS.includes(day) || (sign !== '' && ordinal === undefined)) {
      throw new RuleError('invalid_rrule', `"${one}" is not a weekday. Write MO, or -1FR for the last Friday.`)
    }
    if (ordinal === undefined) return day
    if (frequency !== 'MONTHLY' && frequency !== 'YEARLY') {
      throw new RuleError('invalid_rrule', `"${one}" needs FREQ=MONTHLY or FREQ=YEARLY.`)
    }
    if (Number(ordinal) < 1 || Number(ordinal) > most) {
      throw new RuleError('invalid_rrule', `The number in "${one}" must be from 1 to ${most}, or from -1 to -${most}.`)
    }
    return `${sign === '-' ? '-' : ''}${Number(ordinal)}${day}`
  })
  return [...new Set(days)]
}

function untilOf(text: string | undefined): Until | null {
  if (text === undefined) return null
  const [, year, month, day, time, zone] = /^(\d{4})(\d\d)(\d\d)(?:T(\d{6})(Z)?)?$/.exec(text) ?? []
  const date = `${year}-${month}-${day}`
  const clock = time?.replace(/^(..)(..)(..)$/, '$1:$2:$3') ?? '23:59:59'
  const local = parseDate(date) === undefined ? undefined : parseLocal(`${date}T${clock}`)
  if (local === undefined) {
    throw new RuleError(
      'invalid_rrule',
      `UNTIL must be a date (20261231), a local time (20261231T090000) or UTC (20261231T090000Z), not "${text}".`,
    )
  }
  return zone === undefined ? { kind: 'local', local } : { kind: 'instant', instant: local }
}

/** The days of the month that a rule names, with those that RFC 5545 takes from the first occurrence. */
export function withDays(rule: RecurrenceRule, anchor: number): Pick<RecurrenceRule, 'months' | 'monthDays'> {
  const { frequency, months, monthDays, weekdays } = rule
  const isImplied = weekdays.length === 0 && monthDays.length === 0
  if (!isImplied || (frequency !== 'MONTHLY' && frequency !== 'YEARLY')) return { months, monthDays }
  const first = new Date(anchor)
  return {
    months: frequency === 'YEARLY' && months.length === 0 ? [first.getUTCMonth() + 1] : months,
    monthDays: [first.getUTCDate()],
  }
}
