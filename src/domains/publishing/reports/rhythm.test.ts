import { expect, test } from 'vitest'
import { DAY, HOUR } from '../../../core/clock.ts'
import { lastTime, spanBefore, timeAfter, type Rhythm } from './rhythm.ts'

const daily: Rhythm = { interval: 'day', weekday: 'monday', monthDay: 1, time: '08:00', zone: 'UTC' }

/** The times from one instant to another. */
function times(rhythm: Rhythm, from: string, to: string): string[] {
  const found: string[] = []
  for (let at = timeAfter(rhythm, Date.parse(from)); at < Date.parse(to); at = timeAfter(rhythm, at)) {
    found.push(new Date(at).toISOString())
  }
  return found
}

test.each([
  // Clocks go forward at 02:00 by an hour, and by half an hour.
  ['Europe/Berlin', '02:30', '2026-03-27', '2026-03-31'],
  ['Australia/Lord_Howe', '02:15', '2026-10-02', '2026-10-06'],
  // Clocks go back.
  ['Europe/Berlin', '02:30', '2026-10-23', '2026-10-27'],
  ['Australia/Lord_Howe', '01:45', '2026-04-03', '2026-04-07'],
  ['Asia/Kathmandu', '00:00', '2026-01-01', '2026-01-05'],
  ['America/Sao_Paulo', '23:59', '2026-01-01', '2026-01-05'],
])('%s: one report a day at %s from %s to %s', (zone, time, from, to) => {
  const found = times({ ...daily, zone, time }, `${from}T12:00:00Z`, `${to}T12:00:00Z`)
  expect(found).toHaveLength(4)
  const gaps = found.slice(1).map((at, index) => Date.parse(at) - Date.parse(found[index] ?? ''))
  for (const gap of gaps) {
    expect(gap).toBeGreaterThanOrEqual(23 * HOUR)
    expect(gap).toBeLessThanOrEqual(25 * HOUR)
  }
})

test('weeks begin on their weekday, and months on their day', () => {
  expect(
    times({ ...daily, interval: 'week', weekday: 'sunday' }, '2026-11-01T09:00:00Z', '2026-11-16T00:00:00Z'),
  ).toEqual(['2026-11-08T08:00:00.000Z', '2026-11-15T08:00:00.000Z'])
  expect(times({ ...daily, interval: 'month', monthDay: 28 }, '2026-01-29T00:00:00Z', '2026-04-01T00:00:00Z')).toEqual([
    '2026-02-28T08:00:00.000Z',
    '2026-03-28T08:00:00.000Z',
  ])
})

test('of several missed times the last one counts', () => {
  const due = Date.parse('2026-11-02T08:00:00Z')
  expect(lastTime(daily, due, due)).toBe(due)
  expect(lastTime(daily, due, due + 3 * DAY + HOUR)).toBe(due + 3 * DAY)
})

test('a report is about days that have ended in the zone', () => {
  const span = (interval: Rhythm['interval'], at: string, zone: string) =>
    spanBefore({ interval, zone }, Date.parse(at))
  // 18:30 in London is already the next day in Kathmandu.
  expect(span('day', '2026-11-02T18:30:00Z', 'Asia/Kathmandu')).toEqual({ from: '2026-11-02', to: '2026-11-02' })
  expect(span('day', '2026-11-02T18:30:00Z', 'Europe/London')).toEqual({ from: '2026-11-01', to: '2026-11-01' })
  expect(span('week', '2026-11-02T08:00:00Z', 'UTC')).toEqual({ from: '2026-10-26', to: '2026-11-01' })
  expect(span('month', '2026-03-01T08:00:00Z', 'UTC')).toEqual({ from: '2026-02-01', to: '2026-02-28' })
  expect(span('month', '2026-01-15T08:00:00Z', 'UTC')).toEqual({ from: '2025-12-01', to: '2025-12-31' })
})
