import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../../../core/clock.ts'
import { formatLocal, parseLocal } from './local-time.ts'
import {
  fromInstant,
  localAt,
  rederive,
  resolveLocal,
  schedule,
  scheduledTime,
  type ScheduledTime,
} from './wall-clock.ts'
import { IntlZoneRules, checkTimeZone, zoneRules, type ZoneRules } from './zones.ts'

/** Another seed gives other cases. */
const SEED = 20261130

const at = (wallClock: string, timezone: string) => schedule(parseLocal(wallClock) ?? Number.NaN, timezone)

function read(scheduledFor: string, timezone?: string): ScheduledTime {
  const outcome = scheduledTime({ scheduledFor, timezone }, 'America/New_York')
  if (!outcome.ok) throw new Error(outcome.problem.message)
  return outcome.value
}

function problem(scheduledFor: string, timezone?: string) {
  const outcome = scheduledTime({ scheduledFor, timezone }, 'America/New_York')
  return outcome.ok ? undefined : outcome.problem
}

describe('a local time', () => {
  test.each([
    ['2026-06-01T09:00:00', 'Europe/Berlin', '2026-06-01T07:00:00.000Z'],
    ['2026-01-01T09:00:00', 'Asia/Kathmandu', '2026-01-01T03:15:00.000Z'],
    ['1985-12-31T23:59:59', 'Asia/Kathmandu', '1985-12-31T18:29:59.000Z'],
    ['2100-12-31T23:00:00', 'Pacific/Kiritimati', '2100-12-31T09:00:00.000Z'],
    ['1971-01-01T00:00:00', 'Africa/Monrovia', '1971-01-01T00:44:30.000Z'],
  ])('%s in %s is %s', (wallClock, timezone, instant) => {
    const time = at(wallClock, timezone)
    expect(time).toEqual({ wallClock, timezone, instant: new Date(instant), adjustment: null })
  })

  test.each([
    ['2026-03-29T02:30:00', 'Europe/Berlin', '2026-03-29T01:30:00.000Z', '2026-03-29T03:30:00'],
    ['2026-03-08T02:00:00', 'America/New_York', '2026-03-08T07:00:00.000Z', '2026-03-08T03:00:00'],
    ['2026-10-04T02:15:00', 'Australia/Lord_Howe', '2026-10-03T15:45:00.000Z', '2026-10-04T02:45:00'],
    ['2011-12-30T09:00:00', 'Pacific/Apia', '2011-12-30T19:00:00.000Z', '2011-12-31T09:00:00'],
    ['1986-01-01T00:05:00', 'Asia/Kathmandu', '1985-12-31T18:35:00.000Z', '1986-01-01T00:20:00'],
  ])('%s does not exist in %s and moves forward by the gap', (wallClock, timezone, instant, used) => {
    const time = at(wallClock, timezone)
    expect(time.instant.toISOString()).toBe(instant)
    expect(time.adjustment).toMatchObject({ kind: 'gap', requestedTime: wallClock, usedTime: used })
    expect(time.wallClock).toBe(wallClock)
  })

  test.each([
    ['2026-10-25T02:30:00', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-11-01T01:00:00', 'America/New_York', '2026-11-01T05:00:00.000Z'],
    ['2026-04-05T01:45:00', 'Australia/Lord_Howe', '2026-04-04T14:45:00.000Z'],
  ])('%s occurs twice in %s and is the first', (wallClock, timezone, instant) => {
    const time = at(wallClock, timezone)
    expect(time.instant.toISOString()).toBe(instant)
    expect(time.adjustment).toMatchObject({ kind: 'overlap', requestedTime: wallClock, usedTime: wallClock })
  })

  test('the messages say what happens', () => {
    expect(at('2026-03-29T02:30:00', 'Europe/Berlin').adjustment?.message).toBe(
      '02:30 on 2026-03-29 does not exist in Europe/Berlin, because clocks go forward. The post goes out at 03:30.',
    )
    expect(at('2011-12-30T09:00:00', 'Pacific/Apia').adjustment?.message).toBe(
      '09:00 on 2011-12-30 does not exist in Pacific/Apia, because clocks go forward. The post goes out at 09:00 on 2011-12-31.',
    )
    expect(at('2026-10-25T02:30:00', 'Europe/Berlin').adjustment?.message).toBe(
      '02:30 on 2026-10-25 occurs twice in Europe/Berlin, because clocks go back. The post goes out at the first of the two, 2026-10-25T00:30:00.000Z.',
    )
  })
})

describe('what clients send', () => {
  test('an instant has the wall clock of the zone that is given, or of the workspace', () => {
    expect(read('2026-11-30T09:00:00+01:00', 'Asia/Tokyo').wallClock).toBe('2026-11-30T17:00:00')
    expect(read('2026-11-30T09:00Z')).toEqual({
      wallClock: '2026-11-30T04:00:00',
      timezone: 'America/New_York',
      instant: new Date('2026-11-30T09:00:00Z'),
      adjustment: null,
    })
  })

  test('an instant in the second of two equal hours is kept', () => {
    const second = read('2026-10-25T02:30:00+01:00', 'Europe/Berlin')
    expect(second.instant.toISOString()).toBe('2026-10-25T01:30:00.000Z')
    expect(second.adjustment).toBeNull()
    expect(rederive(second)).toMatchObject({ instant: second.instant, moved: null })
  })

  test('a local time is in the zone that is given', () => {
    expect(read('2026-11-30T09:00', 'Europe/Berlin').instant.toISOString()).toBe('2026-11-30T08:00:00.000Z')
    expect(read('2026-11-30T09:00:15.900', 'Europe/Berlin').wallClock).toBe('2026-11-30T09:00:15')
    expect(read('2026-11-30T09:00', 'europe/berlin').timezone).toBe('Europe/Berlin')
  })

  test.each([
    ['2026-11-30T09:00', undefined, 'timezone_required'],
    ['2026-02-30T09:00', 'Europe/Berlin', 'invalid_time'],
    ['2026-02-30T09:00:00Z', 'Europe/Berlin', 'invalid_time'],
    ['2026-11-30T24:00', 'Europe/Berlin', 'invalid_time'],
    ['2026-11-30T09:00:60', 'Europe/Berlin', 'invalid_time'],
    ['2026-11-30 09:00', 'Europe/Berlin', 'invalid_time'],
    ['30.11.2026 09:00', 'Europe/Berlin', 'invalid_time'],
    ['2026-11-30T09:00:00+01:00[Europe/Berlin]', 'Europe/Berlin', 'invalid_time'],
    ['1969-12-31T23:59', 'Europe/Berlin', 'time_out_of_range'],
    ['2101-01-01T00:00', 'Europe/Berlin', 'time_out_of_range'],
    ['2100-12-31T23:59:59Z', 'Europe/Berlin', 'time_out_of_range'],
    ['2026-11-30T09:00', 'Europe/Berln', 'unknown_timezone'],
  ])('%s in %s is refused: %s', (scheduledFor, timezone, code) => {
    expect(problem(scheduledFor, timezone)?.code).toBe(code)
  })
})

describe('names of zones', () => {
  test.each(['Europe/Berlin', 'Asia/Calcutta', 'Asia/Kolkata', 'US/Eastern', 'UTC', 'Etc/GMT-2'])(
    '%s is known',
    (name) => {
      expect(checkTimeZone(name)).toEqual({ ok: true, value: name })
    },
  )

  test('another name is refused with help', () => {
    const outcome = checkTimeZone('Europe/Berln')
    expect(outcome.ok ? '' : outcome.problem.message).toBe(
      '"Europe/Berln" is not a time zone. Did you mean Europe/Berlin?',
    )
  })
})

describe('a change of tzdata', () => {
  /** Berlin as if it kept summer time from 2027 on. */
  const changed: ZoneRules = {
    offsetAt: (timezone, instant) =>
      timezone === 'Europe/Berlin' && instant >= Date.parse('2027-03-28T01:00:00Z')
        ? 2 * HOUR
        : zoneRules.offsetAt(timezone, instant),
  }

  test('moves the instant, keeps the wall clock, and says so', () => {
    const stored = read('2027-12-01T09:00', 'Europe/Berlin')
    const derived = rederive(stored, changed)
    expect(derived.wallClock).toBe(stored.wallClock)
    expect(derived.instant.toISOString()).toBe('2027-12-01T07:00:00.000Z')
    expect(derived.moved).toEqual({
      from: new Date('2027-12-01T08:00:00Z'),
      to: new Date('2027-12-01T07:00:00Z'),
      message:
        'The rules of Europe/Berlin have changed. 09:00 on 2027-12-01 is now 2027-12-01T07:00:00.000Z, and was 2027-12-01T08:00:00.000Z.',
    })
  })

  test('does not move a time that is still right', () => {
    expect(rederive(read('2027-07-01T09:00', 'Europe/Berlin'), changed).moved).toBeNull()
    expect(rederive(read('2027-12-01T09:00', 'Asia/Tokyo'), changed).moved).toBeNull()
  })

  test('a missing hour that exists by the new rules is used as it was asked for', () => {
    const stored = read('2028-03-26T02:30', 'Europe/Berlin')
    expect(stored.adjustment?.kind).toBe('gap')
    const derived = rederive(stored, changed)
    expect(derived.adjustment).toBeNull()
    expect(derived.moved).toMatchObject({ to: new Date('2028-03-26T00:30:00Z') })
  })
})

const zones = fc.constantFrom(
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'America/St_Johns',
  'Asia/Gaza',
  'Pacific/Kwajalein',
  'Antarctica/Troll',
  'America/Boa_Vista',
  'Europe/Dublin',
  'UTC',
)
const instants = fc
  .integer({ min: Date.parse('1970-01-02T00:00:00Z') / MINUTE, max: Date.parse('2100-12-30T00:00:00Z') / MINUTE })
  .map((minutes) => minutes * MINUTE)

test('offsets are those of Intl, before and after they were kept', () => {
  const rules = new IntlZoneRules()
  fc.assert(
    fc.property(zones, instants, (timezone, instant) => {
      const shown = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' })
      const local = shown.format(instant).replace(' ', 'T')
      expect(formatLocal(instant + rules.offsetAt(timezone, instant))).toBe(local)
      expect(formatLocal(instant + rules.offsetAt(timezone, instant))).toBe(local)
    }),
    { numRuns: 2_000, seed: SEED },
  )
})

test('each instant has a wall clock that gives the instant again, or the first of two', () => {
  fc.assert(
    fc.property(zones, instants, (timezone, instant) => {
      const outcome = fromInstant(new Date(instant), timezone)
      if (!outcome.ok) throw new Error(outcome.problem.message)
      const { kind, instant: again } = resolveLocal(localAt(instant, timezone), timezone)
      if (kind === null) expect(again).toBe(instant)
      else expect(kind === 'overlap' && again <= instant).toBe(true)
      expect(rederive(outcome.value).moved).toBeNull()
    }),
    { numRuns: 2_000, seed: SEED },
  )
})

test('a local time that does not exist moves to one that exists, at most a day later', () => {
  fc.assert(
    fc.property(zones, instants, (timezone, local) => {
      const { kind, instant, used } = resolveLocal(local, timezone)
      expect(localAt(instant, timezone)).toBe(used)
      expect(used - local).toBeGreaterThanOrEqual(0)
      expect(used - local).toBeLessThanOrEqual(24 * HOUR)
      expect(used > local).toBe(kind === 'gap')
    }),
    { numRuns: 2_000, seed: SEED },
  )
})
