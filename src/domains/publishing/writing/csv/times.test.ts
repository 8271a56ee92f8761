import { expect, test } from 'vitest'
import { fromInstant, scheduledTime } from '../../calendar/time/wall-clock.ts'
import { readTime, writeTime } from './times.ts'

const read = (text: string, order?: 'dmy' | 'mdy') => {
  const cell = readTime(text, order)
  return 'value' in cell ? cell.value : cell.problem
}

test.each([
  ['2026-11-30 09:00', '2026-11-30T09:00:00'],
  ['2026-11-30T09:00:15', '2026-11-30T09:00:15'],
  ['2026-11-30T09:00:00.000Z', '2026-11-30T09:00:00Z'],
  ['2026-11-30 09:00+01:00', '2026-11-30T09:00:00+01:00'],
  ['2026-1-5 9:05', '2026-01-05T09:05:00'],
  ['2026/11/30 9:00 AM', '2026-11-30T09:00:00'],
  [' 2026-11-30  12:30 am ', '2026-11-30T00:30:00'],
  ['2026-11-30 12:30pm', '2026-11-30T12:30:00'],
  ['30.11.2026 09:00', '2026-11-30T09:00:00'],
  ['5.6.2026, 17:45', '2026-06-05T17:45:00'],
  ['11/30/2026 9:00 PM', '2026-11-30T21:00:00'],
  ['30/11/2026 09:00', '2026-11-30T09:00:00'],
  ['11/30/2026, 9:00\u202FPM', '2026-11-30T21:00:00'],
  ['2026-11-30\u00A09:00\u202Fp.m.', '2026-11-30T21:00:00'],
  ['\u200E11/30/2026 9:00\u2009AM', '2026-11-30T09:00:00'],
  ['2026-11-30T09:00:00+0530', '2026-11-30T09:00:00+05:30'],
  ['2026-11-30 09:00 -0800', '2026-11-30T09:00:00-08:00'],
  ['2026-11-30 9:00 PM +05', '2026-11-30T21:00:00+05:00'],
  ['2026-11-30 09:00z', '2026-11-30T09:00:00Z'],
  ['06/06/2026 09:00', '2026-06-06T09:00:00'],
])('%s is %s', (text, time) => {
  expect(read(text)).toBe(time)
})

test('with slashes, the order can be given', () => {
  expect(read('05/06/2026 09:00', 'dmy')).toBe('2026-06-05T09:00:00')
  expect(read('05/06/2026 09:00', 'mdy')).toBe('2026-05-06T09:00:00')
  expect(read('30/11/2026 09:00', 'mdy')).toContain('not a date that exists')
})

test.each([
  ['05/06/2026 9:00', 'is ambiguous. Write 2026-06-05 09:00 or 2026-05-06 09:00, whichever you mean.'],
  ['2026-11-30', 'has no time. Write it as 2026-11-30 09:00.'],
  ['30.11.2026', 'has no time. Write it as 2026-11-30 09:00.'],
  ['2026-02-30 09:00', 'not a date that exists'],
  ['31.11.2026 09:00', 'not a date that exists'],
  ['2026-11-30 25:00', 'no time that exists'],
  ['2026-11-30 13:00 PM', 'no time that exists'],
  ['2026-11-30 0:30 AM', 'no time that exists'],
  ['2026-11-30 nine', 'no time that exists'],
  ['11/30/26 09:00', 'is not a date and time. Write it as 2026-11-30 09:00.'],
  ['tomorrow', 'is not a date and time'],
  ['46356.375', 'Write it as 2026-11-30 09:00, if that is what the cell shows'],
  ['46356', 'is a number of days'],
])('%s is refused', (text, problem) => {
  expect(read(text)).toContain(problem)
})

test('a time is written so that it is read as the same instant', () => {
  for (const instant of [
    '2026-10-25T00:30:00Z',
    '2026-10-25T01:30:00Z',
    '2026-07-01T12:00:00Z',
    '2026-03-29T01:30:00Z',
  ]) {
    const time = fromInstant(new Date(instant), 'Europe/Berlin')
    const text = time.ok ? writeTime(time.value) : ''
    const again = scheduledTime({ scheduledFor: read(text), timezone: 'Europe/Berlin' }, 'UTC')
    expect(again.ok ? again.value.instant : undefined).toEqual(new Date(instant))
  }
  const gap = { wallClock: '2026-03-29T02:30:00', timezone: 'Europe/Berlin', instant: new Date('2026-03-29T01:30:00Z') }
  expect(writeTime(gap)).toBe('2026-03-29T02:30:00')
  const second = {
    wallClock: '2026-11-01T01:30:00',
    timezone: 'America/New_York',
    instant: new Date('2026-11-01T06:30:00Z'),
  }
  expect(writeTime(second)).toBe('2026-11-01T01:30:00-05:00')
})
