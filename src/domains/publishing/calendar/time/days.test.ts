import { expect, test } from 'vitest'
import { HOUR } from '../../../../core/clock.ts'
import { dayBounds, dayKey, nextDayWithRoom } from './days.ts'

test.each([
  ['2026-11-30', 'Europe/Berlin', 24],
  ['2026-03-29', 'Europe/Berlin', 23],
  ['2026-10-25', 'Europe/Berlin', 25],
  ['2026-10-04', 'Australia/Lord_Howe', 23.5],
  ['2011-12-30', 'Pacific/Apia', 0],
  // Midnight does not exist there on this day: clocks go from 24:00 to 01:00.
  ['2018-11-04', 'America/Sao_Paulo', 23],
])('%s in %s has %d hours', (day, timezone, hours) => {
  const { start, end } = dayBounds(day, timezone)
  expect((end.getTime() - start.getTime()) / HOUR).toBe(hours)
  if (hours === 0) return
  expect(dayKey(start, timezone)).toBe(day)
  expect(dayKey(new Date(start.getTime() - 1), timezone)).not.toBe(day)
  expect(dayKey(new Date(end.getTime() - 1), timezone)).toBe(day)
  expect(dayKey(end, timezone)).not.toBe(day)
})

test('a day begins when clocks go forward if midnight is inside of the gap', () => {
  // At 23:30 on the 28th, clocks go to 00:30.
  const change = Date.parse('2026-03-28T23:30:00Z')
  const rules = { offsetAt: (_: string, instant: number) => (instant < change ? 0 : HOUR) }
  expect(dayBounds('2026-03-29', 'Europe/Berlin', rules).start).toEqual(new Date(change))
})

test('the next day with room', () => {
  const used = new Map([
    ['2026-12-31', 25],
    ['2027-01-01', 30],
  ])
  const options = { limit: 25, used: (day: string) => used.get(day) ?? 0 }
  expect(nextDayWithRoom('2026-12-31', { ...options, horizonDays: 30 })).toBe('2027-01-02')
  expect(nextDayWithRoom('2026-12-30', { ...options, horizonDays: 30 })).toBe('2026-12-30')
  expect(nextDayWithRoom('2026-12-31', { ...options, horizonDays: 2 })).toBeUndefined()
})
