import { describe, expect, test } from 'vitest'
import { HOUR, MINUTE } from '../core/clock.ts'
import { ScheduleTimes } from './schedules.ts'

function next(cron: string, timeZone: string, after: string): string {
  return new ScheduleTimes({ name: 'test.schedule', cron, timeZone }).after(Date.parse(after)).toISOString()
}

describe('the next time of a schedule', () => {
  test.each([
    ['*/10 * * * *', 'UTC', '2026-11-22T13:10:00.000Z', '2026-11-22T13:20:00.000Z'],
    ['*/10 * * * *', 'UTC', '2026-11-22T13:19:59.999Z', '2026-11-22T13:20:00.000Z'],
    ['* * * * * *', 'UTC', '2026-11-22T13:10:00.500Z', '2026-11-22T13:10:01.000Z'],
    ['12 4 * * *', 'UTC', '2026-12-31T04:12:00.000Z', '2027-01-01T04:12:00.000Z'],
    ['0 9 * * MON-FRI', 'Europe/Berlin', '2026-11-20T08:00:00.000Z', '2026-11-23T08:00:00.000Z'],
    ['0 0 29 2 *', 'UTC', '2026-11-22T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    // 2:30 does not exist in that night, so it runs after the change of the clocks.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00.000Z', '2026-03-29T01:00:00.000Z'],
    // Clocks change by half an hour there. BullMQ's own strategy returns a time in the past, or none.
    ['7 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:13:40.000Z', '2026-04-04T15:37:00.000Z'],
    ['12 4 * * *', 'Australia/Lord_Howe', '2026-04-03T23:22:00.000Z', '2026-04-04T17:42:00.000Z'],
  ])('%s in %s after %s is %s', (cron, timeZone, after, expected) => {
    expect(next(cron, timeZone, after)).toBe(expected)
  })

  test.each(['UTC', 'Europe/Berlin', 'Australia/Lord_Howe'])(
    'is always later in %s, also when the clocks change',
    (timeZone) => {
      const times = new ScheduleTimes({ name: 'test.schedule', cron: '23 * * * *', timeZone })
      for (const night of ['2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25']) {
        const middle = Date.parse(night)
        for (let after = middle - 24 * HOUR; after < middle + 24 * HOUR; after += 17 * MINUTE) {
          expect(times.after(after).getTime()).toBeGreaterThan(after)
        }
      }
    },
  )
})

test.each([
  ['61 * * * *', 'UTC'],
  ['* * *', 'UTC'],
  ['', 'UTC'],
  ['0 0 30 2 *', 'UTC'],
  ['* * * * *', 'Mars/Base'],
])('refuses %s in %s', (cron, timeZone) => {
  expect(() => next(cron, timeZone, '2026-11-22T13:10:00.000Z')).toThrow()
})

test('a schedule without a next time is named in the error', () => {
  const error = 'the schedule test.schedule has no next time: 0 0 30 2 * UTC'
  expect(() => next('0 0 30 2 *', 'UTC', '2026-11-22T13:10:00.000Z')).toThrow(error)
})
