import { describe, expect, test } from 'vitest'
import { MAX_DAYS } from './rule-days.ts'
import { occurrences, parseRecurrence, type Recurrence, type RecurrenceInput } from './recurrence.ts'

const BERLIN = 'Europe/Berlin'

function recurrence(wallClock: string, timezone: string, input: RecurrenceInput | string): Recurrence {
  const outcome = parse(wallClock, timezone, input)
  if (!outcome.ok) throw new Error(outcome.problem.message)
  return outcome.value
}

function parse(wallClock: string, timezone: string, input: RecurrenceInput | string) {
  return parseRecurrence(typeof input === 'string' ? { rrule: input } : input, { wallClock, timezone })
}

/** The first occurrences: where clocks show them, with `<` and what was asked for if it is something else. */
function first(limit: number, wallClock: string, timezone: string, input: RecurrenceInput | string): string[] {
  const found = occurrences(recurrence(wallClock, timezone, input), { limit }).occurrences
  return found.map(({ wallClock, adjustment }) =>
    adjustment === null ? wallClock : `${adjustment.usedTime} < ${adjustment.kind} ${adjustment.requestedTime}`,
  )
}

const days = (limit: number, wallClock: string, input: RecurrenceInput | string) =>
  first(limit, wallClock, BERLIN, input).map((text) => text.slice(0, 10))

describe('days that a month does not have', () => {
  test('the 31st is the last day of shorter months', () => {
    expect(first(5, '2027-12-31T09:00', BERLIN, 'FREQ=MONTHLY')).toEqual([
      '2027-12-31T09:00:00',
      '2028-01-31T09:00:00',
      '2028-02-29T09:00:00 < short_month 2028-02-31T09:00:00',
      '2028-03-31T09:00:00',
      '2028-04-30T09:00:00 < short_month 2028-04-31T09:00:00',
    ])
  })

  test('29 February is the 28th in other years', () => {
    expect(first(4, '2028-02-29T09:00', BERLIN, 'FREQ=YEARLY')).toEqual([
      '2028-02-29T09:00:00',
      '2029-02-28T09:00:00 < short_month 2029-02-29T09:00:00',
      '2030-02-28T09:00:00 < short_month 2030-02-29T09:00:00',
      '2031-02-28T09:00:00 < short_month 2031-02-29T09:00:00',
    ])
  })

  test('days that become the same day are one occurrence', () => {
    expect(days(7, '2026-01-31T09:00', 'FREQ=MONTHLY;BYMONTHDAY=28,29,30,31')).toEqual([
      '2026-01-31',
      '2026-02-28',
      '2026-03-28',
      '2026-03-29',
      '2026-03-30',
      '2026-03-31',
      '2026-04-28',
    ])
  })

  test('the 30th of February is its last day', () => {
    expect(days(3, '2027-01-15T09:00', 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30')).toEqual([
      '2027-01-15',
      '2027-02-28',
      '2028-02-29',
    ])
  })

  test('a daily rule with a day of the month, every second one', () => {
    expect(days(3, '2026-01-30T09:00', 'FREQ=DAILY;INTERVAL=2;BYMONTHDAY=30')).toEqual([
      '2026-01-30',
      '2026-04-30',
      '2026-05-30',
    ])
  })

  test('the last day, and the last working day', () => {
    expect(first(2, '2026-02-28T09:00', BERLIN, 'FREQ=MONTHLY;BYMONTHDAY=-1')).toEqual([
      '2026-02-28T09:00:00',
      '2026-03-31T09:00:00',
    ])
    expect(days(3, '2026-01-30T09:00', 'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1')).toEqual([
      '2026-01-30',
      '2026-02-27',
      '2026-03-31',
    ])
  })

  test('BYSETPOS counts the moved days', () => {
    expect(days(3, '2026-11-30T09:00', 'FREQ=YEARLY;BYMONTHDAY=30;BYSETPOS=2')).toEqual([
      '2026-11-30',
      '2027-02-28',
      '2028-02-29',
    ])
  })

  test('COUNT counts the moved days', () => {
    expect(days(99, '2026-01-31T09:00', 'FREQ=MONTHLY;COUNT=3')).toEqual(['2026-01-31', '2026-02-28', '2026-03-31'])
  })
})

describe('weekdays', () => {
  test('the last Friday', () => {
    expect(days(4, '2026-01-30T17:00', 'FREQ=MONTHLY;BYDAY=-1FR')).toEqual([
      '2026-01-30',
      '2026-02-27',
      '2026-03-27',
      '2026-04-24',
    ])
  })

  test('a fifth Friday is only in months that have one', () => {
    expect(days(3, '2026-01-30T17:00', 'FREQ=MONTHLY;BYDAY=5FR')).toEqual(['2026-01-30', '2026-05-29', '2026-07-31'])
  })

  test('every second week from Sunday on', () => {
    expect(days(4, '1997-08-05T09:00', 'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO')).toEqual([
      '1997-08-05',
      '1997-08-10',
      '1997-08-19',
      '1997-08-24',
    ])
    expect(days(4, '1997-08-05T09:00', 'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU')).toEqual([
      '1997-08-05',
      '1997-08-17',
      '1997-08-19',
      '1997-08-31',
    ])
  })

  test('the post itself is the first occurrence, also where the rule does not match it', () => {
    expect(days(9, '2026-11-25T09:00', 'FREQ=WEEKLY;BYDAY=MO;COUNT=3')).toEqual([
      '2026-11-25',
      '2026-11-30',
      '2026-12-07',
    ])
  })

  test('several times a day', () => {
    expect(first(4, '2026-11-30T09:00', BERLIN, 'FREQ=DAILY;BYHOUR=9,15;BYMINUTE=0,30')).toEqual([
      '2026-11-30T09:00:00',
      '2026-11-30T09:30:00',
      '2026-11-30T15:00:00',
      '2026-11-30T15:30:00',
    ])
  })
})

describe('the end', () => {
  test.each([
    ['20261203', 3],
    ['20261202', 2],
    ['20261203T090000', 3],
    ['20261203T085959', 2],
    // 09:00 in New York is 14:00 UTC.
    ['20261203T140000Z', 3],
    ['20261203T135959Z', 2],
  ])('UNTIL=%s includes %d occurrences', (until, count) => {
    const rule = recurrence('2026-12-01T09:00', 'America/New_York', `FREQ=DAILY;UNTIL=${until}`)
    const { occurrences: found, ended } = occurrences(rule, { limit: 10 })
    expect(found).toHaveLength(count)
    expect(ended).toBe('until')
  })

  test('says why there are no more', () => {
    const rule = recurrence('2026-12-01T09:00', BERLIN, 'FREQ=DAILY;COUNT=3')
    expect(occurrences(rule, { limit: 3 }).ended).toBe('count')
    expect(occurrences(rule, { limit: 2 }).ended).toBeNull()
    const last = recurrence('2098-12-01T09:00', BERLIN, 'FREQ=YEARLY')
    expect(occurrences(last, { limit: 9 })).toMatchObject({ ended: 'horizon' })
    expect(occurrences(last, { limit: 9 }).occurrences).toHaveLength(3)
  })

  test('COUNT is counted from the first occurrence, wherever the search starts', () => {
    const rule = recurrence('2026-12-01T09:00', BERLIN, 'FREQ=DAILY;COUNT=5')
    const { occurrences: found } = occurrences(rule, { after: new Date('2026-12-03T08:00:00Z'), limit: 10 })
    expect(found.map(({ key }) => key)).toEqual(['2026-12-04T09:00:00', '2026-12-05T09:00:00'])
  })
})

describe('exceptions', () => {
  test('leave out times and whole days, and count', () => {
    const input = { rrule: 'FREQ=DAILY;BYHOUR=9,15;COUNT=6', exdates: ['2026-12-01T15:00', '2026-12-02', '2026-12-20'] }
    expect(first(9, '2026-12-01T09:00', BERLIN, input)).toEqual([
      '2026-12-01T09:00:00',
      '2026-12-03T09:00:00',
      '2026-12-03T15:00:00',
    ])
  })

  test('add times, each once, which do not count', () => {
    const input = { rrule: 'FREQ=WEEKLY;COUNT=2', rdates: ['2026-12-24T18:00', '2026-12-03T10:00', '2026-12-08T09:00'] }
    expect(first(9, '2026-12-01T09:00', BERLIN, input)).toEqual([
      '2026-12-01T09:00:00',
      '2026-12-03T10:00:00',
      '2026-12-08T09:00:00',
      '2026-12-24T18:00:00',
    ])
  })

  test('the first post can be left out', () => {
    expect(days(1, '2026-12-01T09:00', { rrule: 'FREQ=DAILY', exdates: ['2026-12-01'] })).toEqual(['2026-12-02'])
  })
})

describe('changes of clocks', () => {
  test.each([
    ['America/New_York', '2026-03-07T02:30', '2026-03-08T03:30:00 < gap 2026-03-08T02:30:00', '2026-03-09T02:30:00'],
    [BERLIN, '2026-03-28T02:30', '2026-03-29T03:30:00 < gap 2026-03-29T02:30:00', '2026-03-30T02:30:00'],
    ['Australia/Lord_Howe', '2026-10-03T02:15', '2026-10-04T02:45:00 < gap 2026-10-04T02:15:00', '2026-10-05T02:15:00'],
    ['Asia/Kathmandu', '1985-12-31T00:10', '1986-01-01T00:25:00 < gap 1986-01-01T00:10:00', '1986-01-02T00:10:00'],
  ])('a missing hour in %s moves forward, and only that day', (timezone, start, moved, next) => {
    expect(first(3, start, timezone, 'FREQ=DAILY')).toEqual([`${start}:00`, moved, next])
  })

  test('an hour that occurs twice is used once', () => {
    const rule = recurrence('2026-10-24T02:30', BERLIN, 'FREQ=DAILY')
    expect(occurrences(rule, { limit: 3 }).occurrences.map(({ instant }) => instant.toISOString())).toEqual([
      '2026-10-24T00:30:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ])
  })

  test('a moved occurrence never falls on another one', () => {
    expect(first(4, '2026-03-28T03:30', BERLIN, 'FREQ=DAILY;BYHOUR=2,3')).toEqual([
      '2026-03-28T03:30:00',
      '2026-03-29T03:30:00',
      '2026-03-30T02:30:00',
      '2026-03-30T03:30:00',
    ])
  })

  test('a moved occurrence takes its place in the order of time', () => {
    expect(first(4, '2026-03-28T22:00', BERLIN, 'FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0,30')).toEqual([
      '2026-03-28T22:00:00',
      '2026-03-29T03:00:00',
      '2026-03-29T03:30:00',
      '2026-03-30T02:00:00',
    ])
    expect(
      first(3, '2026-03-28T22:00', BERLIN, { rrule: 'FREQ=YEARLY', rdates: ['2026-03-29T02:45', '2026-03-29T03:15'] }),
    ).toEqual(['2026-03-28T22:00:00', '2026-03-29T03:15:00', '2026-03-29T03:45:00 < gap 2026-03-29T02:45:00'])
  })

  test('a missing hour that moves beyond UNTIL does not hide a later hour before it', () => {
    // 03:00 in Berlin is 01:00 UTC on that day, and 02:30 becomes 03:30.
    const rule = 'FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0,30;UNTIL=20260329T010000Z'
    expect(first(9, '2026-03-28T22:00', BERLIN, rule)).toEqual(['2026-03-28T22:00:00', '2026-03-29T03:00:00'])
  })

  test('a day that a zone skips is not posted twice on the next day', () => {
    expect(first(4, '2011-12-28T09:00', 'Pacific/Apia', 'FREQ=DAILY')).toEqual([
      '2011-12-28T09:00:00',
      '2011-12-29T09:00:00',
      '2011-12-31T09:00:00',
      '2012-01-01T09:00:00',
    ])
    expect(first(2, '2011-12-23T09:00', 'Pacific/Apia', 'FREQ=WEEKLY')).toEqual([
      '2011-12-23T09:00:00',
      '2011-12-31T09:00:00 < gap 2011-12-30T09:00:00',
    ])
  })

  test('a moved day of February, and the search from its instant on', () => {
    const rule = recurrence('2011-12-23T09:00', 'Pacific/Apia', 'FREQ=WEEKLY')
    const found = occurrences(rule, { after: new Date('2011-12-30T18:59:59Z'), limit: 1 }).occurrences
    expect(found).toMatchObject([{ key: '2011-12-30T09:00:00', instant: new Date('2011-12-30T19:00:00Z') }])
    expect(occurrences(rule, { after: new Date('2011-12-30T19:00:00Z'), limit: 1 }).occurrences[0]?.key).toBe(
      '2012-01-06T09:00:00',
    )
  })
})

describe('the work of a search is bounded', () => {
  const RARE = 'FREQ=DAILY;BYMONTHDAY=29;BYDAY=MO'

  test('of a rare rule, however many occurrences are asked for', () => {
    const found = occurrences(recurrence('2026-11-30T09:00', BERLIN, RARE), { limit: 100 })
    expect(found.daysLookedAt).toBe(MAX_DAYS)
    expect(found.ended).toBe('horizon')
    expect(found.occurrences.length).toBeGreaterThan(10)
  })

  test('by the days that matter', () => {
    const looked = (rrule: string, options: { limit: number; after?: Date }) =>
      occurrences(recurrence('2026-11-30T09:00', BERLIN, rrule), options).daysLookedAt
    // Up to the end of the month.
    expect(looked('FREQ=DAILY', { limit: 10 })).toBeLessThan(33)
    // Months that are left out are skipped, of a daily rule too.
    expect(looked('FREQ=DAILY;BYMONTHDAY=29;BYMONTH=2,4;BYDAY=MO', { limit: 10 })).toBeLessThan(70 * 40)
    expect(looked('FREQ=DAILY', { limit: 10, after: new Date('2090-01-01T00:00:00Z') })).toBeLessThan(33)
    expect(looked('FREQ=YEARLY;BYMONTH=11;BYDAY=-1MO', { limit: 10 })).toBeLessThan(12 * 50)
    expect(looked('FREQ=MONTHLY;BYDAY=2TU', { limit: 10 })).toBeLessThan(12 * 31)
  })

  test('of a count from the first occurrence on', () => {
    const rule = recurrence('2026-11-30T09:00', BERLIN, `${RARE};COUNT=1000`)
    const after = new Date('2095-01-01T00:00:00Z')
    expect(occurrences(rule, { limit: 10, after })).toMatchObject({ occurrences: [], ended: 'horizon' })
  })

  test('and a rule without another occurrence within the bound has too few', () => {
    for (const rrule of ['FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=20', 'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=3;INTERVAL=364']) {
      const outcome = parse('2026-11-30T09:00', BERLIN, rrule)
      expect(outcome.ok ? '' : outcome.problem.message).toMatch(
        /^The rule has too few occurrences: none after 2026-11-30/,
      )
    }
  })
})

describe('rules that are refused', () => {
  test.each([
    ['FREQ=HOURLY', 'rrule_too_frequent', 'FREQ=DAILY;BYHOUR=9,15'],
    ['FREQ=SECONDLY;COUNT=1000000000', 'rrule_too_frequent', 'at most daily'],
    ['FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6;BYMINUTE=0,15,30,45', 'rrule_too_frequent', 'at most 24 times'],
    ['FREQ=DAILY;COUNT=1000000000', 'invalid_rrule', 'from 1 to 1000'],
    ['FREQ=DAILY;INTERVAL=1000000000', 'invalid_rrule', 'from 1 to 1000'],
    ['FREQ=DAILY;INTERVAL=0', 'invalid_rrule', 'INTERVAL'],
    ['FREQ=DAILY;COUNT=2;UNTIL=20270101', 'invalid_rrule', 'not both'],
    ['FREQ=DAILY;UNTIL=2027-01-01', 'invalid_rrule', '20261231T090000Z'],
    ['FREQ=DAILY;UNTIL=20270230', 'invalid_rrule', 'UNTIL'],
    ['FREQ=DAILY;UNTIL=20250101', 'rrule_never_matches', 'before the first post'],
    ['FREQ=WEEKLY;BYDAY=1MO', 'invalid_rrule', 'FREQ=MONTHLY'],
    ['FREQ=WEEKLY;BYDAY=XX', 'invalid_rrule', '-1FR'],
    ['FREQ=MONTHLY;BYDAY=6MO', 'invalid_rrule', 'from 1 to 5'],
    ['FREQ=YEARLY;BYMONTH=2;BYDAY=53MO', 'invalid_rrule', 'from 1 to 5'],
    ['FREQ=WEEKLY;BYMONTHDAY=3', 'invalid_rrule', 'FREQ=MONTHLY'],
    ['FREQ=MONTHLY;BYMONTHDAY=32', 'invalid_rrule', 'from -28 to 31'],
    ['FREQ=MONTHLY;BYMONTHDAY=0', 'invalid_rrule', 'cannot be 0'],
    ['FREQ=MONTHLY;BYSETPOS=1', 'invalid_rrule', 'BYSETPOS'],
    ['FREQ=YEARLY;BYYEARDAY=100', 'unsupported_rrule_part', 'BYMONTHDAY'],
    ['FREQ=YEARLY;BYWEEKNO=20', 'unsupported_rrule_part', 'BYDAY'],
    ['FREQ=DAILY;BYSECOND=1', 'unsupported_rrule_part', 'BYSECOND'],
    ['FREQ=DAILY;DTSTART=20260101', 'unsupported_rrule_part', 'FREQ, INTERVAL'],
    ['FREQ=DAILY;FREQ=WEEKLY', 'invalid_rrule', 'twice'],
    ['INTERVAL=2', 'invalid_rrule', 'FREQ'],
    ['FREQ=DAILY;;COUNT=2', 'invalid_rrule', 'NAME=VALUE'],
    ['', 'invalid_rrule', 'NAME=VALUE'],
    ['FREQ=DAILY;INTERVAL=7;BYDAY=FR', 'rrule_never_matches', 'INTERVAL'],
    ['FREQ=MONTHLY;INTERVAL=12;BYMONTH=3', 'rrule_never_matches', 'BY parts'],
    ['FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=20', 'rrule_never_matches', 'BY parts'],
    ['FREQ=MONTHLY;BYDAY=MO;BYSETPOS=300', 'rrule_never_matches', 'at most 31 times'],
    ['FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=3', 'rrule_never_matches', 'at most 2 times'],
    ['FREQ=MONTHLY;BYDAY=1MO;BYSETPOS=2', 'rrule_never_matches', 'BY parts'],
    ['FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=1,2,3', 'rrule_too_frequent', 'FREQ=DAILY'],
    ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;BYDAY=1SU', 'invalid_rrule', 'FREQ=MONTHLY'],
  ])('%s', (rrule, code, message) => {
    const outcome = parse('2026-11-30T09:00', BERLIN, rrule)
    expect(outcome).toMatchObject({ ok: false, problem: { field: 'rrule', code } })
    expect(outcome.ok ? '' : outcome.problem.message).toContain(message)
  })

  test('a rule of too many characters', () => {
    const outcome = parse('2026-11-30T09:00', BERLIN, `FREQ=DAILY;BYHOUR=${'1,'.repeat(600)}1`)
    expect(outcome).toMatchObject({ problem: { field: 'rrule', code: 'rrule_too_long' } })
  })

  test('exceptions that are no local times, or too many', () => {
    const exdates = Array.from({ length: 501 }, () => '2026-12-01')
    expect(parse('2026-11-30T09:00', BERLIN, { rrule: 'FREQ=DAILY', exdates })).toMatchObject({
      problem: { field: 'exdates', code: 'too_many_exceptions' },
    })
    for (const field of ['exdates', 'rdates'] as const) {
      expect(parse('2026-11-30T09:00', BERLIN, { rrule: 'FREQ=DAILY', [field]: ['2026-12-01T09:00Z'] })).toMatchObject({
        problem: { field, code: 'invalid_time' },
      })
    }
  })

  test('a rule of the widest parts that are allowed is found within the bounds', () => {
    const rule = recurrence('2026-11-30T09:00', BERLIN, 'FREQ=YEARLY;INTERVAL=50;BYMONTH=11;BYDAY=-1MO')
    expect(occurrences(rule, { limit: 9 }).occurrences.map(({ key }) => key)).toEqual([
      '2026-11-30T09:00:00',
      '2076-11-30T09:00:00',
    ])
  })
})
