import * as fc from 'fast-check'
import { RRuleTemporal } from 'rrule-temporal'
import { expect, test } from 'vitest'
import { DAY } from '../../../../core/clock.ts'
import { formatLocal, parseLocal, weekdayOf } from '../time/local-time.ts'
import { occurrences, parseRecurrence, type Recurrence } from './recurrence.ts'
import { schedule } from '../time/wall-clock.ts'

/** Another seed gives other cases, and more runs give more of them. */
const SEED = Number(process.env['RECURRENCE_SEED'] ?? 20261130)
const RUNS = Number(process.env['RECURRENCE_RUNS'] ?? 100)
/** Occurrences that are compared. More cost much time where a rule is rare, and each is found like those before it. */
const FEW = 6

const ZONES = [
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Asia/Kathmandu',
  'America/Sao_Paulo',
  'Africa/Casablanca',
  'UTC',
]
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']

/** Days near changes of clocks, and days anywhere. */
const anchors = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(
        '2011-12-28',
        '2026-03-06',
        '2026-03-27',
        '2026-10-02',
        '2026-10-23',
        '2026-10-30',
        '1985-12-29',
        '2018-11-02',
      ),
      fc.integer({ min: 0, max: 120 * 365 }).map((day) => formatLocal(day * DAY).slice(0, 10)),
    ),
    fc.integer({ min: 0, max: 23 }),
    fc.constantFrom(0, 15, 30, 45),
  )
  .map(([day, hour, minute]) => `${day}T${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00`)

interface Shape {
  readonly frequency: string
  readonly interval: number
  readonly months: number[]
  readonly monthDays: number[]
  readonly weekdays: string[]
  readonly hours: number[]
}

const few = <T>(arbitrary: fc.Arbitrary<T>) => fc.uniqueArray(arbitrary, { maxLength: 3 })
const plainDays = few(fc.constantFrom(...WEEKDAYS))
const monthDays = few(
  fc.oneof(fc.integer({ min: 27, max: 31 }), fc.integer({ min: 1, max: 31 }), fc.constantFrom(-1, -2, -28)),
)
const months = few(fc.integer({ min: 1, max: 12 }))
const hours = few(fc.integer({ min: 0, max: 5 }))
const interval = fc.integer({ min: 1, max: 4 })

const shapes: fc.Arbitrary<Shape> = fc.oneof(
  fc
    .record({ frequency: fc.constant<string>('DAILY'), interval, months, monthDays, weekdays: plainDays, hours })
    // With all three, occurrences are years apart, and looking for them takes most of the time of this file.
    .map((shape) => (shape.monthDays.length > 0 && shape.weekdays.length > 0 ? { ...shape, interval: 1 } : shape)),
  fc.record({
    frequency: fc.constant<string>('WEEKLY'),
    interval,
    months,
    monthDays: fc.constant<number[]>([]),
    weekdays: plainDays,
    hours,
  }),
  fc.record({
    frequency: fc.constant<string>('MONTHLY'),
    interval,
    months,
    monthDays,
    weekdays: few(
      fc.tuple(fc.constantFrom('', '1', '2', '5', '-1'), fc.constantFrom(...WEEKDAYS)).map((two) => two.join('')),
    ),
    hours,
  }),
  fc.record({
    frequency: fc.constant<string>('YEARLY'),
    interval,
    months,
    monthDays,
    weekdays: fc.constant<string[]>([]),
    hours,
  }),
)

function write(shape: Shape): string {
  const list = (name: string, values: readonly (string | number)[]) =>
    values.length === 0 ? '' : `;${name}=${values.join(',')}`
  return `FREQ=${shape.frequency};INTERVAL=${shape.interval}${list('BYMONTH', shape.months)}${list('BYMONTHDAY', shape.monthDays)}${list('BYDAY', shape.weekdays)}${list('BYHOUR', shape.hours)}`
}

/**
 * The local times of a rule, found by looking at each day: our rules for short months and RFC 5545 for the rest. Shares
 * nothing with the code that is tested but the weekday of a day.
 */
function expected(shape: Shape, anchor: string, from: number, days: number): number[] {
  const start = local(anchor)
  const first = new Date(start)
  const midnight = start - (start % DAY)
  const monday = midnight - weekdayOf(midnight) * DAY
  const implied = shape.weekdays.length === 0 && shape.monthDays.length === 0
  const wanted = implied && ['MONTHLY', 'YEARLY'].includes(shape.frequency) ? [first.getUTCDate()] : shape.monthDays
  const wantedMonths =
    implied && shape.frequency === 'YEARLY' && shape.months.length === 0 ? [first.getUTCMonth() + 1] : shape.months
  const wantedDays = implied && shape.frequency === 'WEEKLY' ? [WEEKDAYS[weekdayOf(midnight)] ?? ''] : shape.weekdays
  const times = shape.hours.length === 0 ? [first.getUTCHours()] : shape.hours.toSorted((a, b) => a - b)
  const found = new Set([start])
  for (let day = from; day < from + days * DAY; day += DAY) {
    const date = new Date(day)
    const month = date.getUTCFullYear() * 12 + date.getUTCMonth()
    const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
    const periods = {
      DAILY: (day - midnight) / DAY,
      WEEKLY: Math.floor((day - monday) / (7 * DAY)),
      MONTHLY: month - (first.getUTCFullYear() * 12 + first.getUTCMonth()),
      YEARLY: date.getUTCFullYear() - first.getUTCFullYear(),
    }
    const period = periods[shape.frequency as keyof typeof periods]
    if (period < 0 || period % shape.interval !== 0) continue
    if (wantedMonths.length > 0 && !wantedMonths.includes(date.getUTCMonth() + 1)) continue
    const isDay = (one: number) => date.getUTCDate() === (one > 0 ? Math.min(one, length) : length + 1 + one)
    if (wanted.length > 0 && !wanted.some(isDay)) continue
    const isWeekday = (one: string) => {
      const ordinal = Number(one.slice(0, -2))
      const place = ordinal < 0 ? -Math.ceil((length - date.getUTCDate() + 1) / 7) : Math.ceil(date.getUTCDate() / 7)
      return one.endsWith(WEEKDAYS[weekdayOf(day)] ?? '') && (one.length === 2 || ordinal === place)
    }
    if (wantedDays.length > 0 && !wantedDays.some(isWeekday)) continue
    for (const hour of times) found.add(day + hour * 3_600_000 + first.getUTCMinutes() * 60_000)
  }
  return [...found].filter((one) => one >= start).toSorted((a, b) => a - b)
}

const local = (text: string) => parseLocal(text) ?? Number.NaN

function recurrence(rrule: string, wallClock: string, timezone: string): Recurrence | undefined {
  const outcome = parseRecurrence({ rrule }, { wallClock, timezone })
  return outcome.ok ? outcome.value : undefined
}

test('a rule gives the days that RFC 5545 and our rule for short months say', () => {
  fc.assert(
    fc.property(shapes, anchors, (shape, anchor) => {
      const found = recurrence(write(shape), anchor, 'UTC')
      const days = 3 * 366
      const want = expected(shape, anchor, local(anchor) - (local(anchor) % DAY), days)
      const end = local(anchor) - (local(anchor) % DAY) + days * DAY
      // One more than there are, but not many more: the next ones of a rare rule are centuries away.
      const limit = Math.min(60, want.length + 1)
      const got =
        found === undefined ? [] : occurrences(found, { limit }).occurrences.map(({ instant }) => instant.getTime())
      // A rule that is refused gives nothing but the post itself.
      if (found === undefined) expect(want).toEqual([local(anchor)])
      else
        expect(got.filter((one) => one < end)).toEqual(
          want.slice(0, got.length < 60 ? undefined : 60).filter((one) => one <= Date.UTC(2100, 11, 31, 23, 59, 59)),
        )
    }),
    { numRuns: RUNS, seed: SEED },
  )
})

/** Rules that a library reads alike: without days that some months do not have. */
const plainRules = fc
  .record({
    shape: shapes.filter(({ monthDays }) => monthDays.every((day) => day <= 28)),
    positions: few(fc.constantFrom(1, 2, 3, -1, -2)),
    weekStart: fc.constantFrom(...WEEKDAYS),
  })
  .map(({ positions, shape, weekStart }) => {
    // BYSETPOS needs another part to choose from.
    const isChosen = positions.length > 0 && [...shape.months, ...shape.weekdays, ...shape.hours].length > 0
    return `${write(shape)};WKST=${weekStart}${isChosen ? `;BYSETPOS=${positions.join(',')}` : ''}`
  })

test('BYSETPOS and WKST give the times that rrule-temporal finds', () => {
  fc.assert(
    fc.property(plainRules, anchors, (rrule, anchor) => {
      const found = recurrence(rrule, anchor, 'UTC')
      const first = new Date(local(anchor))
      // The library has no day to take from a first occurrence on the 29th or later in each month.
      if (found === undefined || first.getUTCDate() > 28) return
      const got = occurrences(found, { limit: FEW }).occurrences.map(({ instant }) => instant.getTime())
      const start = anchor.replaceAll(/[-:]/g, '')
      const peer = new RRuleTemporal({
        rruleString: `DTSTART;TZID=UTC:${start}\nRRULE:${rrule};UNTIL=21001231T235959Z`,
      })
      const want = [first.getTime()]
      for (let at = first.getTime(); want.length < got.length;) {
        const next = peer.next(new Date(at))
        if (next === null) break
        at = next.epochMilliseconds
        want.push(at)
      }
      expect(got).toEqual(want)
    }),
    { numRuns: RUNS, seed: SEED },
  )
})

test('occurrences are in order, on different instants, and follow from their wall clocks', () => {
  fc.assert(
    fc.property(shapes, anchors, fc.constantFrom(...ZONES), (shape, anchor, timezone) => {
      const found = recurrence(write(shape), anchor, timezone)
      if (found === undefined) return
      const list = occurrences(found, { limit: 2 * FEW }).occurrences
      const instants = list.map(({ instant }) => instant.getTime())
      expect(instants).toEqual([...new Set(instants)].toSorted((a, b) => a - b))
      expect(new Set(list.map(({ key }) => key)).size).toBe(list.length)
      for (const { wallClock, instant, adjustment } of list) {
        const again = schedule(local(wallClock), timezone)
        expect(again.instant).toEqual(instant)
        expect(again.adjustment === null).toBe(adjustment === null || adjustment.kind === 'short_month')
      }
    }),
    { numRuns: RUNS, seed: SEED },
  )
})

test('a search from an occurrence on gives the ones after it', () => {
  fc.assert(
    fc.property(
      shapes,
      anchors,
      fc.constantFrom(...ZONES),
      fc.integer({ min: 0, max: FEW - 1 }),
      (shape, anchor, timezone, place) => {
        const found = recurrence(`${write(shape)};COUNT=200`, anchor, timezone)
        const endless = recurrence(write(shape), anchor, timezone)
        if (found === undefined || endless === undefined) return
        for (const rule of [found, endless]) {
          const all = occurrences(rule, { limit: FEW }).occurrences
          const after = all[Math.min(place, all.length - 1)]
          if (after === undefined) continue
          const rest = occurrences(rule, { after: after.instant, limit: FEW }).occurrences
          expect(rest.slice(0, all.length - 1 - all.indexOf(after))).toEqual(all.slice(all.indexOf(after) + 1))
        }
      },
    ),
    { numRuns: RUNS, seed: SEED },
  )
})

test('the zone of the process does not matter', () => {
  const digest = () =>
    ZONES.flatMap((timezone) =>
      ['FREQ=DAILY;BYHOUR=2,3', 'FREQ=MONTHLY;BYMONTHDAY=31', 'FREQ=WEEKLY;BYDAY=SU,TU'].map((rrule) => {
        const found = recurrence(rrule, '2026-03-01T02:30:00', timezone)
        return found === undefined ? rrule : occurrences(found, { limit: 40 }).occurrences
      }),
    )
  const before = process.env['TZ']
  const want = digest()
  const offsets = new Set<number>()
  try {
    for (const zone of ['Pacific/Apia', 'America/New_York', 'Asia/Kathmandu', 'Europe/Berlin', 'Australia/Lord_Howe']) {
      process.env['TZ'] = zone
      offsets.add(new Date('2026-07-01T00:00:00Z').getTimezoneOffset())
      expect(digest()).toEqual(want)
    }
  } finally {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  }
  expect(offsets.size).toBe(5)
})
