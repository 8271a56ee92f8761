import { MINUTE } from '../../../../core/clock.ts'
import { formatLocal, parseDate, parseLocal, localAt, resolveLocal } from '../../calendar/index.ts'
import type { Cell } from './cells.ts'

/** The order of day and month in dates with slashes: `dmy` for 30/11/2026, `mdy` for 11/30/2026. */
export type DateOrder = 'dmy' | 'mdy'

const ISO = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[T ]+(.*))?$/i
const DOTS = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? +(.*))?$/
const SLASHES = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?:,? +(.*))?$/
const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)? ?(?:([ap])\.? ?m\.?)? ?(?:(z)|([+-]\d\d)(?::?(\d\d))?)?$/i

/** Marks of the direction of writing, which some programs put around times. */
const MARKS = /[\u200E\u200F\u202A-\u202E\u2066-\u2069]/g
const SERIAL = /^\d{5}(?:[.,]\d+)?$/

/** Longer than any date and time. */
const LONGEST = 64

const EXAMPLE = 'Write it as 2026-11-30 09:00.'

/** The first day of Excel's calendar, which counts 29 February 1900, so that it is right from 1 March 1900 on. */
const EXCEL_EPOCH = Date.UTC(1899, 11, 30)

/**
 * Reads a date and time as people and programs for sheets write it, and returns it in ISO 8601:
 *
 * - `2026-11-30 09:00`, `2026-11-30T09:00:00+01:00`, `2026/11/30 9:00 AM`: year first.
 * - `30.11.2026 09:00`: with dots, the day is always first.
 * - `11/30/2026 9:00 AM`, `30/11/2026 09:00`: with slashes, only if the day is larger than 12 or `order` is given.
 *   Otherwise the date is ambiguous and refused.
 *
 * An offset may be `+05:30`, `+0530` or `+05`. Spaces may be of any kind: current programs write a narrow no-break space
 * (U+202F) before AM and PM.
 *
 * Excel's numbers of days are refused: they do not say in which calendar of the two that Excel has.
 */
export function readTime(text: string, order?: DateOrder): Cell<string> {
  const trimmed = text.replaceAll(MARKS, '').replaceAll(/\s+/g, ' ').trim()
  if (trimmed.length > LONGEST) return { problem: notATime(trimmed) }
  if (SERIAL.test(trimmed)) return { problem: serialProblem(trimmed) }
  const iso = ISO.exec(trimmed)
  if (iso) return timeOf(iso[1], iso[2], iso[3], iso[4], trimmed)
  const dots = DOTS.exec(trimmed)
  if (dots) return timeOf(dots[3], dots[2], dots[1], dots[4], trimmed)
  const slashes = SLASHES.exec(trimmed)
  if (slashes === null) return { problem: notATime(trimmed) }
  const [, first, second, year, clock] = slashes
  const isDayFirst = Number(first) > 12
  const isMonthFirst = Number(second) > 12
  if (order === undefined && !isDayFirst && !isMonthFirst && first !== second) {
    return { problem: ambiguous(trimmed, [first, second, year, clock]) }
  }
  const dayFirst = order === undefined ? isDayFirst : order === 'dmy'
  return dayFirst ? timeOf(year, second, first, clock, trimmed) : timeOf(year, first, second, clock, trimmed)
}

/**
 * The time of a post for a sheet: the local time, or an instant with its offset if the local time alone would be
 * another instant, as in the second of two equal hours.
 */
export function writeTime(time: {
  readonly wallClock: string
  readonly timezone: string
  readonly instant: Date
}): string {
  const local = parseLocal(time.wallClock)
  if (local !== undefined && resolveLocal(local, time.timezone).instant === time.instant.getTime())
    return time.wallClock
  const shown = localAt(time.instant.getTime(), time.timezone)
  const minutes = Math.round((shown - time.instant.getTime()) / MINUTE)
  const size = Math.abs(minutes)
  const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
  return `${formatLocal(shown)}${offset}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}

type Digits = string | undefined

function timeOf(year: Digits, month: Digits, day: Digits, clock: Digits, text: string): Cell<string> {
  const date = `${year}-${month?.padStart(2, '0')}-${day?.padStart(2, '0')}`
  if (parseDate(date) === undefined) return { problem: `"${text}" is not a date that exists. ${EXAMPLE}` }
  if (clock === undefined || clock === '') return { problem: `"${text}" has no time. Write it as ${date} 09:00.` }
  const time = clockOf(clock)
  if (time === undefined) return { problem: `"${text}" has no time that exists. Write it as ${date} 09:00.` }
  return { value: `${date}T${time}` }
}

/** `HH:MM:SS`, with the offset if there is one. */
function clockOf(text: string): string | undefined {
  const [, hour = '', minute = '', second = '00', half, zulu, offsetHours, offsetMinutes = '00'] =
    CLOCK.exec(text.trim()) ?? []
  if (hour === '') return undefined
  const number = Number(hour)
  if (half !== undefined && (number < 1 || number > 12)) return undefined
  const hours = half === undefined ? number : (number % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  const time = `${two(hours)}:${minute}:${second}`
  const offset = zulu === undefined ? (offsetHours === undefined ? '' : `${offsetHours}:${offsetMinutes}`) : 'Z'
  return parseLocal(`2000-01-01T${time}`) === undefined ? undefined : `${time}${offset}`
}

function notATime(text: string): string {
  return `"${text.slice(0, LONGEST)}" is not a date and time. ${EXAMPLE}`
}

function ambiguous(text: string, [first, second, year, clock]: readonly Digits[]): string {
  const time = clockOf(clock ?? '')?.slice(0, 5) ?? '09:00'
  const day = (month: Digits, date: Digits) => `${year}-${month?.padStart(2, '0')}-${date?.padStart(2, '0')} ${time}`
  return `"${text}" is ambiguous. Write ${day(second, first)} or ${day(first, second)}, whichever you mean.`
}

function serialProblem(text: string): string {
  const local = EXCEL_EPOCH + Math.round(Number(text.replace(',', '.')) * 86_400) * 1_000
  const shown = formatLocal(local).slice(0, 16).replace('T', ' ')
  return `"${text}" is a number of days, as Excel stores dates. Write it as ${shown}, if that is what the cell shows: format the column as yyyy-mm-dd hh:mm before you save it.`
}
